"""A process for the tests of the watchdog: one evaluation under a small budget, a small watchdog and a crash marker.

``python -m tests.unit.evaluation.held MODE DIRECTORY``: ``holds`` keeps the interpreter in C; ``works`` uses three
times the watchdog's time, in evaluations that end; ``sleeps`` evaluates for ``ASLEEP`` seconds. Prints what came of it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from intentc.evaluation import PROCESS, CrashMarker, Limits, Watchdog
from tests.unit.evaluation.toy import INSTALLATION, evaluate, toy_world

SECONDS = 0.5
"""Of CPU time until the watchdog ends the process."""
ASLEEP = 1.0
LIMITS = Limits(thread_seconds=0.3, wall_seconds=2 * ASLEEP)


def holds(box: Any, ctx: Any) -> Any:
    sum(range(10**12))


def works(box: Any, ctx: Any) -> Any:
    done = time.thread_time() + 0.1
    while time.thread_time() < done:
        pass
    return ()


def sleeps(box: Any, ctx: Any) -> Any:
    print("asleep", flush=True)
    time.sleep(ASLEEP)
    return ()


def main(mode: str, directory: str) -> None:
    world = toy_world()
    key = world.put("box", "a")
    crash_marker = CrashMarker.open(Path(directory), INSTALLATION)
    with PROCESS.enforced(watchdog=Watchdog(SECONDS)):
        begun = time.process_time()
        while True:
            outcome = evaluate(world, key, globals()[mode], LIMITS, crash_marker=crash_marker)
            if mode != "works" or time.process_time() - begun > 3 * SECONDS:
                break
    print(outcome.status.value)
    crash_marker.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
