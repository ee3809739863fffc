"""Random histories: ``python -m tests.simulation [--compiler C] [--form F] [--seed N] [--runs M] …``.

Seeds are counted up from N. A failing one is printed with the shortest history that fails; ``--seed`` with it and
``--runs 1`` replays it. Exit code 1 if any failed.
"""

from __future__ import annotations

import argparse
import logging
import sys
import textwrap
import time
import traceback
from collections import Counter

from tests.simulation.histories import Form, Lived, made
from tests.simulation.subjects import SUBJECTS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--compiler", choices=sorted(SUBJECTS), default="contrail")
    parser.add_argument("--form", choices=["service", "steps"], default="service")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=0, help="of each history; without it 6 to 25")
    parser.add_argument("--runs", type=int, default=sys.maxsize)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--trace", action="store_true", help="what happened in each run, and when")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    try:
        return _run(options)
    finally:
        logging.disable(logging.NOTSET)


def _run(options: argparse.Namespace) -> int:
    started = time.monotonic()
    seed, failed, seen = options.seed, 0, Counter[str]()
    form = made(SUBJECTS[options.compiler], options.form, options.steps)
    while seed < options.seed + options.runs and time.monotonic() - started < 60 * options.minutes:
        lived = _lived(form, options, seed)
        failed += lived is None
        seen.update(lived.features if lived is not None else ())
        seed += 1
    runs, wall, cpu = seed - options.seed, time.monotonic() - started, time.process_time()
    print(
        f"{options.compiler} {options.form}: seeds {options.seed} to {seed - 1}: {runs} runs, {failed} failed; ", end=""
    )
    print(f"{runs / wall * 60:.0f} a minute, {runs / cpu * 60:.0f} a minute of CPU")
    print(", ".join(f"{count / runs:.0%} {feature}" for feature, count in seen.most_common()))
    return 1 if failed else 0


def _lived(form: Form, options: argparse.Namespace, seed: int) -> Lived | None:
    """What came of the history of this seed; None, after a report, if it failed."""
    history = form.drawn(seed)
    try:
        lived = form.run(history, seed)
    except Exception as error:
        given = f"--compiler {options.compiler} --form {options.form} --seed {seed} --runs 1"
        given += f" --steps {options.steps}" if options.steps else ""
        print(f"seed {seed} fails; python -m tests.simulation {given} replays it", flush=True)
        print(textwrap.indent("".join(traceback.format_exception(error, limit=-2))[:4000], "    "), flush=True)
        left = form.shrunk(history, seed)
        for item in (*left.begin, *left.steps):
            print(f"    {item!r}", flush=True)
        return None
    if options.trace:
        print(*lived.trace, sep="\n")
    return lived


if __name__ == "__main__":
    sys.exit(main())
