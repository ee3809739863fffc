"""Gives each rule its priority, by all rules of the document, and reports what becomes of priorities that Ingresses ask
for (docs/appgw.md §8.2).

A lower number counts first. Names with a wildcard, and listeners for all names, must come after exact names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from .parts import Owner

LAST = 20_000
_HOSTS, _BARE, _STEP = 19_000, 19_500, 5


class Rule(NamedTuple):
    """A rule of ours. ``port``: the id of its listener's port and address; ``requested``: what the Ingress ``by`` asks
    for, 0 if none does; ``order``: its place among the rules of that Ingress."""

    name: str
    hosts: tuple[str, ...]
    port: str
    requested: int = 0
    by: str = ""
    order: tuple[int, ...] = ()

    @property
    def is_wildcard(self) -> bool:
        return any("*" in host or "?" in host for host in self.hosts)


class Trouble(NamedTuple):
    """``owner``: the Ingress that it concerns, namespace:name."""

    owner: str
    reason: str
    message: str


def priorities(
    rules: Iterable[Rule], owners: Mapping[str, Owner], taken: Collection[int]
) -> tuple[dict[str, int], list[Trouble]]:
    """The priority of each rule by name, and what is wrong with those that Ingresses ask for. ``taken``: priorities of
    rules of others.

    >>> priorities([Rule("b", ("b.test",), ""), Rule("a", ("a.test",), ""), Rule("c", (), "")], {}, ())[0]
    {'a': 19000, 'b': 19005, 'c': 19500}
    """
    rules, used = sorted(rules), set(taken)
    found: dict[str, int] = {}
    troubles: list[Trouble] = []
    _requested(rules, owners, used, found, troubles)
    rest = [rule for rule in rules if rule.name not in found]
    exact = [rule for rule in rest if rule.hosts and not rule.is_wildcard]
    wild = sorted((rule for rule in rest if rule.is_wildcard), key=lambda rule: (-max(map(len, rule.hosts)), rule.name))
    bare = [rule for rule in rest if not rule.hosts]
    hosts = _run([*exact, *wild], _HOSTS, _BARE - 1, used)
    others = _run(bare, _BARE, LAST, used)
    if hosts is None or others is None:
        free = [number for number in range(LAST, 0, -1) if number not in used]
        ordered = [*exact, *wild, *bare]
        hosts = dict(zip((rule.name for rule in ordered), reversed(free[: len(ordered)]), strict=False))
        others = {}
    found.update(hosts)
    found.update(others)
    troubles += _shadows(rules, found)
    return found, troubles


def _requested(
    rules: list[Rule], owners: Mapping[str, Owner], used: set[int], found: dict[str, int], troubles: list[Trouble]
) -> None:
    asked = [rule for rule in rules if rule.requested]
    for owner in sorted({rule.by for rule in asked}, key=lambda name: owners.get(name, Owner("", "", name))):
        own = sorted((rule for rule in asked if rule.by == owner), key=lambda rule: (rule.order, rule.name))
        wanted = own[0].requested
        for rule in own:
            number = next((one for one in (*range(wanted, LAST + 1), *range(wanted, 0, -1)) if one not in used), LAST)
            if number != wanted:
                message = f"priority {wanted} is taken; rule {rule.name} has {number}. Ask for another one"
                troubles.append(Trouble(owner, "PriorityTaken", message))
            used.add(number)
            found[rule.name] = number
            wanted = min(number + 1, LAST)


def _run(rules: list[Rule], start: int, end: int, used: Collection[int]) -> dict[str, int] | None:
    """Numbers from ``start`` in steps; None if they pass ``end``."""
    free = (number for number in range(start, end + 1, _STEP) if number not in used)
    numbers = [number for number, _ in zip(free, rules, strict=False)]
    return dict(zip((rule.name for rule in rules), numbers, strict=True)) if len(numbers) == len(rules) else None


def _shadows(rules: list[Rule], found: Mapping[str, int]) -> Iterable[Trouble]:
    asked = any(rule.requested for rule in rules)
    wide = [rule for rule in rules if rule.is_wildcard or not rule.hosts] if asked else []
    for rule in wide:
        for exact in rules:
            if exact.is_wildcard or exact.port != rule.port or found[exact.name] < found[rule.name]:
                continue
            covered = [host for host in exact.hosts if _covers(rule.hosts, host)]
            owner = rule.by or exact.by
            if covered and owner:
                shown = ", ".join(rule.hosts) or "a rule for all names"
                message = f"priority {found[rule.name]} of {shown} hides {covered[0]} ({found[exact.name]})"
                yield Trouble(owner, "PriorityShadowsHost", f"{message}; give the exact name a lower number")


def _covers(patterns: tuple[str, ...], host: str) -> bool:
    """A ``*`` stands for any text, ``?`` for one character."""
    if not patterns:
        return True
    texts = (re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".") for pattern in patterns)
    return any(re.fullmatch(text, host) for text in texts)
