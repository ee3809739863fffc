"""Instructions a unit, counted by valgrind: the same from run to run, whatever else the machine does.

    python -m tests.perf.instructions [--over DIRECTORY] [--write]

A unit's figure is the difference of two runs, one of which compiles more of it, divided by how many more. The hash seed
is fixed, the garbage collector off, and the event loop's clock stands still (``units.py``). ``--over``: a checkout of
another commit, whose ``intentc`` is counted in the same way; exit code 1 if a unit takes over 3 % more than there. The
interpreter is the one that runs this: figures of different builds of Python can't be compared.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .figures import write
from .units import UNITS

_ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- instructions: written by make bench -->", "<!-- end of instructions -->"
_FEW, _MORE = 200, 400
_MOST = 1.03
"""Of the other commit's instructions."""
_RUN = """
import sys
sys.path.insert(0, sys.argv[1])
import intentc
del sys.path[0]
import gc
from tests.perf.units import compile_units
gc.disable()
compile_units(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
"""


def instructions(tree: Path, unit: str, few: int = _FEW, more: int = _MORE) -> float:
    """Of one unit, by the ``intentc`` in ``tree``."""
    return (_counted(tree, unit, more, more) - _counted(tree, unit, few, more)) / (more - few)


def _counted(tree: Path, unit: str, count: int, most: int) -> int:
    with tempfile.TemporaryDirectory() as directory:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out"]
        command = [*tool, sys.executable, "-c", _RUN, str(tree), unit, str(count), str(most)]
        path = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": path}
        done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert done.returncode == 0 and found, done.stderr[-2000:]
    return int(found[1])


def table(figures: dict[str, list[float]]) -> str:
    """Unit → the instructions in this tree and, if it was counted, in the other one, as Markdown."""
    lines = [
        f"Python {sys.version.split()[0]} ({sys.executable}).",
        "",
        "| unit | instructions | of the other commit's |",
        "|---|---|---|",
    ]
    for unit, counts in figures.items():
        ratio = f"{counts[0] / counts[1]:.3f}" if len(counts) > 1 else ""
        lines.append(f"| {unit} | {counts[0] / 1000:,.0f}k | {ratio} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.perf.instructions", description=__doc__)
    parser.add_argument("--over", type=Path, help="a checkout of the commit to compare with")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    trees = [_ROOT, *([options.over.resolve()] if options.over else [])]
    figures = {unit: [instructions(tree, unit) for tree in trees] for unit in UNITS}
    text = table(figures)
    print(text)
    if options.write:
        write(text, BEGIN, END)
    return int(any(counts[0] > _MOST * counts[-1] for counts in figures.values()))


if __name__ == "__main__":
    sys.exit(main())
