"""``python -m tests.simulation [--compiler C] [--form F] [--seed N] [--runs M] [--minutes T]``: random histories.

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

from tests.simulation.histories import FORMS, Form
from tests.simulation.subjects import SUBJECTS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--compiler", choices=sorted(SUBJECTS), default="contrail")
    parser.add_argument("--form", choices=["service", "steps"], default="service")
    parser.add_argument("--seed", type=int, default=0)
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
    started, name = time.monotonic(), (options.compiler, options.form)
    seed, failed = options.seed, 0
    while seed < options.seed + options.runs and time.monotonic() - started < 60 * options.minutes:
        failed += not _succeeds(FORMS[name], name, seed, trace=options.trace)
        seed += 1
    runs, wall, cpu = seed - options.seed, time.monotonic() - started, time.process_time()
    print(f"{' '.join(name)}: seeds {options.seed} to {seed - 1}: {runs} runs, {failed} failed; ", end="")
    print(f"{runs / wall * 60:.0f} a minute, {runs / cpu * 60:.0f} a minute of CPU")
    return 1 if failed else 0


def _succeeds(form: Form, name: tuple[str, str], seed: int, *, trace: bool) -> bool:
    history = form.drawn(seed)
    try:
        lived = form.run(history, seed)
    except Exception as error:
        options = f"--compiler {name[0]} --form {name[1]} --seed {seed} --runs 1"
        print(f"seed {seed} fails; python -m tests.simulation {options} replays it")
        print(textwrap.indent("".join(traceback.format_exception(error, limit=-2))[:4000], "    "))
        left = form.shrunk(history, seed)
        for item in (*left.begin, *left.steps):
            print(f"    {item!r}")
        return False
    if trace:
        print(*lived.trace, sep="\n")
    return True


if __name__ == "__main__":
    sys.exit(main())
