"""Checks the parameters of a question and rejects unknown and out-of-range ones by name.

Why it exists: if a misspelt parameter were ignored, the answer would be to another question, and nobody would notice.

Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

EVERYWHERE = ("pretty",)
"""Parameters that every path takes."""


class BadQuery(ValueError):
    """An invalid query; the message says what is wrong and what is valid."""


def only(parameters: Mapping[str, str], known: Collection[str]) -> None:
    """Raise ``BadQuery`` for parameters other than the ``known`` ones."""
    for name in parameters:
        if name not in known and name not in EVERYWHERE:
            there = f"there are {', '.join(known)}" if known else "there are none"
            raise BadQuery(f"no parameter {name!r}; {there}")


def number(parameters: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """Read a whole number in its range; ``default`` if it isn't given. Raises ``BadQuery``."""
    text = parameters.get(name, "")
    if not text:
        return default
    if text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and least <= int(text) <= most:
        return int(text)
    raise BadQuery(f"{name} is {text!r}; it is a number from {least} to {most}")


def choice(parameters: Mapping[str, str], name: str, choices: Collection[str]) -> str:
    """Read one of ``choices``; empty if it isn't given. Raises ``BadQuery``."""
    text = parameters.get(name, "")
    if not text or text in choices:
        return text
    raise BadQuery(f"{name} is {text!r}; there are {', '.join(choices)}")


def needed(parameters: Mapping[str, str], name: str, example: str) -> str:
    """Read a required text. Raises ``BadQuery`` with ``example``."""
    text = parameters.get(name, "").strip()
    if not text:
        raise BadQuery(f"{name} is missing; ask as in {example}")
    return text
