"""Patterns of host names, and which patterns cover which.

A pattern is an exact name, a wildcard at its start (``*.shop.example``, ``*-eu.shop.example``), a wildcard at its end
(``shop.*``), or ``*``. A request goes to the best pattern that covers its name, in Envoy's order: exact, the longest
wildcard at the start, the longest at the end, ``*``. So a look-up asks for each pattern that could cover a name, and
never compares all with all.
"""

from __future__ import annotations

import re

ANY = "*"
_MOST = 255
"""The longest host name in Envoy and DNS."""
_PATTERN = re.compile(r"\*|\*?[a-z0-9_.:\[\]-]+|[a-z0-9_.:\[\]-]+\*")


def is_pattern(text: str) -> bool:
    """Whether ``text`` is a pattern: lower case, at most one ``*``, at one end.

    >>> [is_pattern(text) for text in ("shop.example", "*.example", "shop.*", "*", "*.shop.*", "Shop.example", "")]
    [True, True, True, True, False, False, False]
    """
    return len(text) <= _MOST and _PATTERN.fullmatch(text) is not None


def covers(pattern: str, domain: str) -> bool:
    """Whether each name that ``domain`` (itself a pattern) stands for is one that ``pattern`` stands for. A wildcard
    stands for at least one character.

    >>> covers("*.example", "www.shop.example"), covers("*.example", "*.shop.example"), covers("*.example", "*.example")
    (True, True, True)
    >>> covers("*.example", ".example"), covers("shop.*", "*"), covers("*", "shop.*")
    (False, False, True)
    """
    if pattern in (domain, ANY):
        return True
    if pattern.startswith("*"):
        return not domain.endswith("*") and len(domain) >= len(pattern) and domain.endswith(pattern[1:])
    if pattern.endswith("*"):
        return not domain.startswith("*") and len(domain) >= len(pattern) and domain.startswith(pattern[:-1])
    return False


def covering(pattern: str) -> tuple[str, ...]:
    """Every pattern that covers ``pattern``, itself first, the best first.

    >>> covering("*.b")
    ('*.b', '*b', '*')
    >>> covering("a.b")
    ('a.b', '*.b', '*b', 'a.*', 'a*', '*')
    """
    found = [pattern]
    # Only shorter wildcards at the same end cover a wildcard.
    if not pattern.endswith("*"):
        fixed = pattern.removeprefix("*")
        found += [f"*{fixed[start:]}" for start in range(1, len(fixed))]
    if not pattern.startswith("*"):
        fixed = pattern.removesuffix("*")
        found += [f"{fixed[:end]}*" for end in range(len(fixed) - 1, 0, -1)]
    return (*found, ANY) if pattern != ANY else (ANY,)


def wildcard_regex(pattern: str) -> str:
    """A regex for authorities, with or without a port, whose name fits ``pattern``, a wildcard at one end.

    >>> wildcard_regex("*.shop.example"), wildcard_regex("shop.*")
    ('(?i).+\\\\.shop\\\\.example(:[0-9]+)?', '(?i)shop\\\\..+')
    """
    text = re.escape(pattern.strip(ANY))
    return f"(?i){text}.+" if pattern.endswith(ANY) else f"(?i).+{text}(:[0-9]+)?"


def aligned(pattern: str) -> bool:
    """Whether the wildcard of ``pattern``, if it has one, stands for whole labels.

    Nearly all do, and TLS clients can only be distinguished by such patterns (SNI).

    >>> aligned("shop.example"), aligned("*.example"), aligned("shop.*"), aligned("*"), aligned("*-eu.example")
    (True, True, True, True, False)
    """
    return "*" not in pattern or pattern == ANY or pattern.startswith("*.") or pattern.endswith(".*")


def rank(pattern: str) -> tuple[int, int, str]:
    """A sort key for patterns that cover one name, the best first."""
    if "*" not in pattern:
        return 0, 0, pattern
    sort = 3 if pattern == ANY else 1 if pattern.startswith("*") else 2
    return sort, -len(pattern), pattern
