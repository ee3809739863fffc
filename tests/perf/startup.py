"""What ``intentc --help`` takes over a Python that does nothing."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def help_over_python(repetitions: int) -> tuple[float, float]:
    """Median milliseconds of ``intentc --help`` and of ``python -c pass``, taken by turns."""
    shown, bare = [], []
    for _ in range(repetitions):
        shown.append(_milliseconds("-m", "intentc.cli", "--help"))
        bare.append(_milliseconds("-c", "pass"))
    return statistics.median(shown), statistics.median(bare)


def _milliseconds(*arguments: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=_ROOT, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1000
