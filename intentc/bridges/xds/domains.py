"""Decides which host name patterns cover a domain of a virtual host.

Why it exists: a virtual host takes the routes of every table whose host name covers its domain. Patterns are Envoy's:
an exact name, ``*`` and a suffix, a prefix and ``*``, or ``*`` alone; a wildcard matches one character or more.
Compilers never import this package, nor it them; their equivalent is ``compilers/ambassador/routing/hostnames.py``.

Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator

ANY = "*"


def covers(pattern: str, domain: str) -> bool:
    """Whether all host names that match ``domain`` (itself a pattern) match ``pattern``.

    >>> covers("*.example.org", "a.example.org"), covers("*.example.org", "*.b.example.org"), covers("a.*", "*")
    (True, True, False)
    """
    if pattern in (ANY, domain):
        return True
    if pattern.startswith("*"):
        return domain.endswith(pattern[1:]) and len(domain) >= len(pattern) and not domain.endswith("*")
    if pattern.endswith("*"):
        return domain.startswith(pattern[:-1]) and len(domain) >= len(pattern) and not domain.startswith("*")
    return False


def covering(domain: str) -> Iterator[str]:
    """Every pattern that covers ``domain``, itself first; about as many as the domain has characters.

    >>> list(covering("*.b"))
    ['*.b', '*b', '*']
    """
    yield domain
    if not domain.endswith("*"):
        yield from (f"*{domain[start:]}" for start in range(2 if domain.startswith("*") else 1, len(domain)))
    if not domain.startswith("*"):
        length = len(domain)
        yield from (f"{domain[:end]}*" for end in range(length - (2 if domain.endswith("*") else 1), 0, -1))
    if domain != ANY:
        yield ANY
