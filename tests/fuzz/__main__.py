"""Random requests against a real API server over a real etcd: ``python -m tests.fuzz --requests 28000 [--seed N]``.

Each failure is printed with the number of its request and its bytes; the seed replays all of them. Exit code 1 if there
is one. A server that ends takes this process with it, and Python prints where.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys

from tests.fuzz.running import run

_BETWEEN = 1_000
"""Requests between two lines."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=28_000)
    parser.add_argument("--seed", type=int, default=0, help="0: one at random, which is printed")
    options = parser.parse_args()
    faulthandler.enable()
    seed = options.seed or random.SystemRandom().randrange(1, 2**32)
    print(f"seed {seed}, {options.requests:,} requests", flush=True)
    ran = run(seed, options.requests, _progress)
    for found in ran.found:
        print(found)
    print(f"statuses: {', '.join(f'{status}: {count:,}' for status, count in sorted(ran.statuses.items()))}")
    print(f"{len(ran.found)} failures; --seed {seed} replays them" if ran.found else "no failure")
    return 1 if ran.found else 0


def _progress(done: int) -> None:
    if done % _BETWEEN == 0:
        print(f"  {done:,}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
