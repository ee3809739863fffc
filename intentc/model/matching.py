"""Matches what a person typed with what exists: the names that are meant, and similar ones if there is none.

Names are compared as texts whose elements are joined by ``:``, since an element may contain a colon itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

T = TypeVar("T")

_NEAR = 5
_NEAR_KINDS = 3
_COMPARED = 2_000
"""Names that are compared letter by letter with an unknown one."""
_LONGEST_MISSPELT = 100
"""Characters of a name that is compared with known ones, which takes long for long names."""


def fits(name: str, text: str) -> bool:
    """Whether ``text`` is a name, or its last elements."""
    return name == text or name.endswith(f":{text}")


def meant(text: str, candidates: Iterable[T], names: Callable[[T], Collection[str]]) -> list[T]:
    """Return the candidates that have the whole name ``text``; else those that have a name which ends with it."""
    fitting = [one for one in candidates if any(fits(name, text) for name in names(one))]
    return [one for one in fitting if text in names(one)] or fitting


def near(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return names that contain ``text`` or end with its last element; else similarly spelt names; else siblings."""
    known = list(names)
    above, _, last = text.rpartition(":")
    holding = [name for name in known if text in name] or [name for name in known if name.endswith(f":{last}")]
    siblings = [name for name in known if above and name.startswith(f"{above}:")]
    return _closest(text, holding) or _spelt_nearly(text, last, known) or _closest(text, siblings)


def near_kinds(text: str, kinds: Iterable[str]) -> tuple[str, ...]:
    """Return kinds with these initials (``acl``); else similarly spelt ones; else those that contain the text."""
    known = sorted(kinds)
    spelt = text.replace("-", "_").lower()
    wanted = (spelt, spelt.removesuffix("s"))
    initials = [kind for kind in known if "".join(word[:1] for word in kind.split("_")) in wanted]
    inside = [kind for kind in known if spelt and spelt in kind]
    return tuple(
        (initials or difflib.get_close_matches(spelt, known, _NEAR_KINDS) or _closest(spelt, inside))[:_NEAR_KINDS]
    )


def suggestion(text: str, known: Iterable[str], most: int = 3) -> str:
    """Return the end of an error about an unknown ``text``: at most ``most`` similarly spelt names, if there are any.

    >>> suggestion("nam", ["name", "parent"])
    '; did you mean name?'
    """
    return did_you_mean(difflib.get_close_matches(text, list(known), most) if len(text) <= _LONGEST_MISSPELT else ())


def did_you_mean(names: Collection[str]) -> str:
    """Return the end of an error that offers ``names``; empty if there are none."""
    return f"; did you mean {' or '.join(names)}?" if names else ""


def _closest(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that resemble ``text`` most, the best first."""
    return tuple(difflib.get_close_matches(text, _comparable(text, names), _NEAR, 0.0))


def _comparable(text: str, names: Iterable[str]) -> list[str]:
    """Return names of about the length of ``text``, few enough to compare each letter by letter."""
    return sorted(set(names), key=lambda name: (abs(len(name) - len(text)), name))[:_COMPARED]


def _spelt_nearly(text: str, last: str, names: Iterable[str]) -> tuple[str, ...]:
    candidates = _comparable(text, names)
    by_last: dict[str, list[str]] = {}
    for name in candidates:
        by_last.setdefault(name.rpartition(":")[2], []).append(name)
    whole = difflib.get_close_matches(text, candidates, _NEAR, 0.8)
    lasts = [name for close in difflib.get_close_matches(last, by_last, _NEAR) for name in by_last[close][:_NEAR]]
    return tuple(dict.fromkeys([*whole, *lasts]))[:_NEAR]
