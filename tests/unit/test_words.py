"""Nothing that people read has a word that docs/words.md replaces: names, docstrings, comments, messages, pages, docs.

Refused are those words of its left column that are wrong wherever they stand. The others are right in other places.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORDS = re.compile(
    r"\b(told|tells|tell|dear|levers?|calm|fought|fights?|put(?:s|ting)? off|put(?:s|ting)? right|mend(?:s|ed)?|made up"
    r"|in vain|but for|by and by|whom|thereof|awaiting)\b",
    re.IGNORECASE,
)
PYTHON = ("intentc", "tests")
TEXTS = (
    "*.md", "docs/*.md", "docs/adr/*.md", "intentc/diagnostics/pages/templates/*.html", "config/schemas/**/*.yml",
    "reactions/*.yml", "sample/**/*.yml",
)  # fmt: skip
ELSEWHERE = {
    ROOT / "docs" / "words.md",
    Path(__file__),
    ROOT / "intentc" / "watch" / "rpc_pb2.py",
}
"""What names the words to forbid them, and what is generated."""


def found_in_python(path: Path) -> Iterator[str]:
    """Names are read word by word: ``_tell_held`` has ``tell``."""
    source = path.read_text()
    if WORDS.search(_words(source)) is None:
        return  # to take a file apart costs a hundred times as much
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            text = _words(token.string)
        elif token.type in (tokenize.STRING, tokenize.COMMENT):
            text = token.string.replace("_", " ")
        else:
            continue
        yield from (f"{path.relative_to(ROOT)}:{token.start[0]}: {word[0]}" for word in WORDS.finditer(text))


def _words(name: str) -> str:
    """``tellHeld`` and ``tell_held`` → ``tell Held``, ``tell held``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name)


def test_no_python_has_a_word_that_is_replaced() -> None:
    files = [path for folder in PYTHON for path in sorted((ROOT / folder).rglob("*.py")) if path not in ELSEWHERE]
    assert len(files) > 1000
    assert [found for path in files for found in found_in_python(path)] == []


def test_no_name_of_the_package_says_refused_for_what_a_server_rejects() -> None:
    """In prose the word has its place: a connection is refused, a program refuses to start."""
    found = {
        f"{path.relative_to(ROOT)}: {token.string}"
        for path in sorted((ROOT / "intentc").rglob("*.py"))
        if path not in ELSEWHERE and "refus" in path.read_text().lower()
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
        if token.type == tokenize.NAME and "refus" in token.string.lower()
    }
    assert found <= {"ConnectionRefusedError"}


def test_no_page_has_a_word_that_is_replaced() -> None:
    files = [path for pattern in TEXTS for path in sorted(ROOT.glob(pattern)) if path not in ELSEWHERE]
    assert len(files) > 50
    found = [
        f"{path.relative_to(ROOT)}:{number}: {word[0]}"
        for path in files
        for number, line in enumerate(re.sub(r"\]\([^)]*\)", "]", path.read_text()).splitlines(), 1)
        for word in WORDS.finditer(line)
    ]
    assert found == []


def test_the_words_are_found_in_names_docstrings_comments_and_messages(tmp_path: Path) -> None:
    source = '"""Whom it concerns."""\n\ndef tell_it(isTold):  # put off\n    raise Error("mend that")\n'
    found = [
        word[0].lower()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        for word in WORDS.finditer(_words(token.string))
        if token.type in (tokenize.NAME, tokenize.STRING, tokenize.COMMENT)
    ]
    assert found == ["whom", "tell", "told", "put off", "mend"]
