"""Every rule that code, tests and data files cite exists, by its number, in one of the documents of rules.

A citation names the document and the section, as in ``docs/engine.md §5.5``; further sections of the same document may
follow. A section is a heading, a row of a table or an item of a list that begins with the number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("intentc", "tests", "reactions", "config", "sample", "docs/adr")
SUFFIXES = {".py", ".yml", ".yaml", ".json", ".toml", ".md"}
RULES = {"engine": "§", "ambassador": "§", "appgw": "§", "contrail": "", "gateway": "§"}
"""Document of rules → what its sections' numbers begin with."""

NUMBER = re.compile(r"§ ?(?P<sign>\d+(?:\.\d+)*)|(?<![\w./\-])(?P<letter>[A-H]\.\d+(?:\.\d+)*)(?!\w)|(?P<star>★\d+b?)")
DOCUMENT = re.compile(r"\bdocs/(\w+)\.md")
ELSEWHERE = re.compile(r"RFC \d+, [A-Z][\d.]+")
"""Numbers of sections of other works."""
UNRESOLVED = re.compile(
    r"(?<!docs/)\b(?:engine|contrail|ambassador)\.md [§A-H]|\bdesign(?:\.md)? §"
    r"|\b(?:dependencies|faults)\.md\b|\bspec/\w+\.md|\bspec §?\d|\bdefects? \d"
)
"""Citations in another form, or of what isn't in this repository."""
CANDIDATE = re.compile(r"[§★]|\.md\b|\b[A-H]\.\d|\bspec \d|\bdefects? \d")
"""What every text with a citation has, in whatever form."""
NEAR = 600
"""Characters between a document's name and the number of a section of it."""


def files() -> Iterator[Path]:
    own = Path(__file__)
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and path != own and path.is_file():
                yield path


def numbers(text: str) -> Iterator[str]:
    """The number of each section in the text of a document."""
    heading = ""
    for line in text.splitlines():
        if match := re.match(r"#+ §?((?:[A-Z](?=\.)|\d+)(?:\.\d+)*)\.? ", line):
            heading = match[1]
            yield heading
        elif match := re.match(r"(?:\| |- \*\*)§(\d[\d.]*\d)", line):
            yield match[1]
        elif match := re.match(r"(\d+)\. ", line):
            yield f"{heading}.{match[1]}"
        elif match := re.match(r"\| (★\d+b?) ", line):
            yield match[1]


@cache
def sections(document: str) -> frozenset[str]:
    """The numbers of a document's sections."""
    return frozenset(numbers((ROOT / "docs" / f"{document}.md").read_text()))


def repeated(text: str) -> list[str]:
    """The numbers that several sections of a document have."""
    return [number for number, times in Counter(numbers(text)).items() if times > 1]


def mistakes(text: str) -> Iterator[tuple[int, str]]:
    """(position, what is wrong) of each citation in ``text`` that leads nowhere."""
    if CANDIDATE.search(text) is None:
        return
    text = ELSEWHERE.sub(lambda found: " " * len(found[0]), text)
    for found in UNRESOLVED.finditer(text):
        yield found.start(), f"{found[0]!r} is no citation of this repository's documents"
    for found in NUMBER.finditer(text):
        before = text[max(0, found.start() - NEAR) : found.start()].rpartition('"""')[2]
        named = [document for document in DOCUMENT.findall(before) if document in RULES]
        number = found["sign"] or found["letter"] or found["star"]
        if not named:
            yield found.start(), f"{found[0]} names no document; write docs/engine.md {found[0]}, say"
        elif number not in sections(named[-1]) or bool(found["sign"]) != (RULES[named[-1]] == "§"):
            yield found.start(), f"docs/{named[-1]}.md has no section {found[0]}"


def test_every_cited_section_exists() -> None:
    wrong = []
    for path in files():
        text = path.read_text()
        for position, mistake in mistakes(text):
            wrong.append(f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, position) + 1}: {mistake}")
    assert wrong == []


@pytest.mark.parametrize("document", RULES)
def test_the_documents_refer_to_sections_that_exist(document: str) -> None:
    text = (ROOT / "docs" / f"{document}.md").read_text()
    wrong = []
    for found in NUMBER.finditer(text):
        other = re.search(r"(\w+)\.md\s$", text[: found.start()])
        number = found["sign"] or found["letter"] or found["star"]
        if number not in sections(other[1] if other else document):
            wrong.append(found[0])
    assert wrong == []


@pytest.mark.parametrize("document", RULES)
def test_each_number_is_that_of_one_section(document: str) -> None:
    assert repeated((ROOT / "docs" / f"{document}.md").read_text()) == []


def test_two_sections_of_one_number_are_found() -> None:
    assert repeated("## §4 Evaluation\n### §4.4 One\n### §4.5 Two\n### §4.4 Three\n") == ["4.4"]


@pytest.mark.parametrize(
    "text",
    ["(docs/engine.md §99)", "(docs/contrail.md D.99)", "(engine.md §5.5)", "(spec D.1)", "(D.1)", "(spec 4.3)", "★4"],
)
def test_a_citation_that_leads_nowhere_is_found(text: str) -> None:
    assert list(mistakes(text))


@pytest.mark.parametrize(
    "text",
    [
        "(docs/engine.md §5.5, §6.4)",
        "docs/contrail.md D.1, B.5.7; ★4",
        "docs/ambassador.md §4.3, §5.7, §6.10",
        "RFC 8017, A.1.2",
    ],
)
def test_a_citation_that_leads_to_a_section_is_none(text: str) -> None:
    assert list(mistakes(text)) == []
