"""The README's picture of the demo: lines appear one by one, nothing is loaded, and it shows what the sample gives."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from tests.demo_recording import FILE, ROOT, Printed, drawn
from tests.unit.cli.running import Intentc

SPACE = "\N{NO-BREAK SPACE}"


def lines_of(svg: str) -> list[str]:
    texts = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()).replace(SPACE, " ").rstrip() for text in texts]


def test_each_line_appears_at_its_time_and_nothing_is_loaded() -> None:
    svg = drawn([Printed(0.0, "$ make demo"), Printed(1.25, "KIND  NAME"), Printed(1.5, "x" * 300)])
    shown = lines_of(svg)
    assert "$ make demo" in shown
    assert any(line.endswith("x…") for line in shown)
    assert re.findall(r'#demo-line-(\d)\)"\] \{ animation: appear 0s ([\d.]+)s', svg) == [
        ("0", "0.00"),
        ("1", "1.25"),
        ("2", "1.50"),
    ]
    assert "prefers-reduced-motion" in svg
    assert not re.search(r"(?:href|src)=|url\((?!#)|@import", svg)


def test_the_picture_that_ships_shows_what_the_sample_gives(intentc: Intentc) -> None:
    """`make recording` draws it again."""
    shown = "\n".join(lines_of(FILE.read_text()))
    for row in intentc("compile", *(ROOT / "sample" / name for name in ("tenant.yml", "chain.yml"))).out.splitlines():
        kind, name = row.split()[:2]
        # The server gives the numbers of allocated route targets.
        if not name.startswith("target:"):
            assert re.search(rf"^{kind} +{re.escape(name)}( |$)", shown, re.MULTILINE), row
