"""``labelSelector`` and ``fieldSelector`` of lists and watches.

Why it exists: clients select resources by text: ``app=web,tier in (a,b),!old``. Fields are ``metadata.name`` and
``metadata.namespace`` only, as for custom resources in Kubernetes.

A client may send any text, so the patterns never go back (``*+``): each text is read once.

Pure functions of values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import BadRequest, shortened

_SET = re.compile(r"\s*+(?P<key>[^\s!=,()]++)\s++(?P<not>not)?in\s*+\((?P<values>[^()]*+)\)\s*+")
_EQUAL = re.compile(r"\s*+(?P<key>[^\s!=,()]++)\s*+(?P<operator>==|!=|=)\s*+(?P<value>[^\s!=,()]*+)\s*+")
_PRESENT = re.compile(r"\s*+(?P<not>!)?\s*+(?P<key>[^\s!=,()]++)\s*+")
LONGEST = 16_384
"""Characters of a selector."""
MOST = 50
"""Requirements of a selector; each resource is compared with all of them."""
_FIELDS = ("metadata.name", "metadata.namespace")


class Requirement(NamedTuple):
    """``key`` has one of ``values`` (None: any value); ``negated``: it has not, or is missing."""

    key: str
    values: frozenset[str] | None
    negated: bool = False

    def matches(self, found: Mapping[str, Any]) -> bool:
        """Whether these labels, or fields, fulfil the requirement."""
        value = found.get(self.key)
        holds = self.key in found if self.values is None else value in self.values
        return holds is not self.negated


class Selector(NamedTuple):
    """All requirements must hold."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.labels or self.fields)

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Whether a resource with this ``metadata`` of its manifest is selected."""
        labels = metadata.get("labels") or {}
        fields = {"metadata.name": metadata.get("name", ""), "metadata.namespace": metadata.get("namespace", "")}
        return all(one.matches(labels) for one in self.labels) and all(one.matches(fields) for one in self.fields)


def selector(labels: str, fields: str) -> Selector:
    """Read both parameters. Raises ``BadRequest``."""
    return Selector(_requirements(labels, "labelSelector"), _field_requirements(fields))


def _requirements(text: str, parameter: str) -> tuple[Requirement, ...]:
    if len(text) > LONGEST:
        raise BadRequest(f"{parameter} has {len(text):,} characters; {LONGEST:,} are the most")
    found: list[Requirement] = []
    position = 0
    while position < len(text):
        if len(found) == MOST:
            raise BadRequest(f"{parameter} has more than {MOST} requirements; use key in (a,b), or list several times")
        for pattern in (_SET, _EQUAL, _PRESENT):
            match = pattern.match(text, position)
            if match is not None and (match.end() == len(text) or text[match.end()] == ","):
                break
        else:
            raise BadRequest(
                f"{parameter} {shortened(text)!r} can't be read at {shortened(text[position:])!r}; "
                "write key=value, key!=value, key in (a,b), key notin (a,b), key or !key, with commas between"
            )
        found.append(_requirement(match))
        position = match.end() + 1
    return tuple(found)


def _requirement(match: re.Match[str]) -> Requirement:
    parts = match.groupdict()
    if match.re is _SET:
        values = frozenset(value.strip() for value in parts["values"].split(","))
        return Requirement(parts["key"], values, bool(parts["not"]))
    if match.re is _EQUAL:
        return Requirement(parts["key"], frozenset([parts["value"]]), parts["operator"] == "!=")
    return Requirement(parts["key"], None, bool(parts["not"]))


def _field_requirements(text: str) -> tuple[Requirement, ...]:
    found = _requirements(text, "fieldSelector")
    for one in found:
        if one.key not in _FIELDS:
            raise BadRequest(f"field label not supported: {shortened(one.key)}; there are {', '.join(_FIELDS)}")
    return found
