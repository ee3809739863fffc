"""``python -m tests.chaos [--rounds N] [--faults M] [--period S] [--seed X]``: rounds of faults on a real cluster.

The rounds follow each other in one system, so that each begins with what the last one left. Exit code 1 if one failed;
its folder, with all logs and configurations, is kept and named.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import traceback
from pathlib import Path

import anyio

from intentc.plugins import find_compilers, load_all
from tests.chaos.cluster_system import running_cluster_system
from tests.chaos.rounds import play


def main() -> int:
    """Play the rounds."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--faults", type=int, default=6, help="in a round")
    parser.add_argument("--period", type=float, default=4.0, help="seconds between the beginnings of two faults, about")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="intentc-chaos-"))
    try:
        anyio.run(_play, folder, options)
    except Exception:
        traceback.print_exc()
        print(f"logs: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


async def _play(folder: Path, options: argparse.Namespace) -> None:
    async with running_cluster_system(folder, load_all(find_compilers(["contrail"]))) as system:
        for seed in range(options.seed, options.seed + options.rounds):
            print(f"round with --seed {seed}", flush=True)
            print(await play(system, seed, faults=options.faults, period=options.period), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
