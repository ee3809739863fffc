"""Records ``make demo`` as a picture for the README: each line appears when the real run printed it.

    python -m tests.demo_recording [FILE]

Why an SVG: it needs no player, loads nothing, and stays sharp. Rich draws the lines; the animation is a style for each.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "screenshots" / "demo.svg"
COMMAND = ("make", "--no-print-directory", "demo")
_WIDTH = 144
_PICTURE = "demo"
_FONT_FILES = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


class Printed(NamedTuple):
    """One line, and when it was printed, in seconds since the start."""

    seconds: float
    text: str


def run() -> list[Printed]:
    """Run the command to its end. Raises ``CalledProcessError``."""
    printed = [Printed(0.0, "$ make demo")]
    begun = time.monotonic()
    with subprocess.Popen(COMMAND, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        printed += [Printed(time.monotonic() - begun, line.rstrip("\n")) for line in process.stdout]
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, COMMAND, "\n".join(line.text for line in printed))
    return printed


def drawn(printed: Iterable[Printed]) -> str:
    """The lines as an SVG that refers to nothing outside. Who prefers reduced motion sees all lines at once."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO())
    styles = []
    for number, line in enumerate(printed):
        bold = not number or line.text.startswith("KIND ")
        console.print(Text(line.text, style="bold" if bold else ""), no_wrap=True, overflow="ellipsis")
        styles.append(
            f'[clip-path="url(#{_PICTURE}-line-{number})"] {{ animation: appear 0s {line.seconds:.2f}s both }}'
        )
    console.print()  # the window's edge cuts the last line
    svg = _FONT_FILES.sub("", console.export_svg(title="intentc", unique_id=_PICTURE))
    motion = [
        "@keyframes appear { from { visibility: hidden } to { visibility: visible } }",
        "@media (prefers-reduced-motion: no-preference) {",
        *styles,
        "}\n",
    ]
    return svg.replace("</style>", "\n".join(motion) + "</style>", 1)


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else FILE).write_text(drawn(run()))
