"""Compares two documents, lists the paths that differ, and finds values by such paths.

A path names fields with dots and list elements in brackets (``spec.ports[80,TCP].name``). What counts as a difference
depends on the system that a document comes from, so each system passes its ``Rules``: of inspections
(``inspection/differences.py``), of a cluster (``outgoing/owned_fields.py``), of files (``cli/transfer.py``), and of
Azure (``bridges/azure/normalize.py``). Typed values are compared with ``==``, where they are used.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

Difference = tuple[str, Any, Any]
"""A path, and the two values there; None: absent."""

_MAPPING = (dict, Mapping)
_LIST = (list, tuple)
"""The forms of JSON's containers, the usual one first: whether something is a ``Mapping`` takes long to find out."""


class Rules:
    """What counts as a difference, whichever side has it. A container and an absent value differ in the fields that the
    container has. Elements of lists are compared by their keys, else elements that both lists have are left out, and
    the others compared by position."""

    def names(self, before: Mapping[str, Any], after: Mapping[str, Any], /) -> Iterable[str]:
        """Return the fields to compare, in order."""
        return sorted(before.keys() | after.keys())

    def inner(self, field: str, name: str, /) -> str:
        """Return the ``field`` of the values in the field ``name`` of a value in ``field``."""
        return name

    def keyed(self, elements: Sequence[Any], path: str, field: str, /) -> Mapping[str, Any] | None:
        """Return the elements of a list by their keys; None if it has none."""
        return None

    def compare(self, before: Any, after: Any, path: str, field: str, found: list[Difference], /) -> None:
        """Append the differences of two values to ``found``. ``field``: the innermost field that contains them."""
        if before == after and type(before) is type(after):
            return
        if _are(_MAPPING, before, after):
            self.compare_mappings(before or {}, after or {}, path, field, found)
        elif _are(_LIST, before, after):
            self.compare_lists(before or (), after or (), path, field, found)
        else:
            found.append((path, before, after))

    def compare_mappings(
        self, before: Mapping[str, Any], after: Mapping[str, Any], path: str, field: str, found: list[Difference], /
    ) -> None:
        for name in self.names(before, after):
            one, other = before.get(name), after.get(name)
            # Most fields don't differ, and are texts.
            if type(one) is str and one == other:
                continue
            self.compare(one, other, f"{path}.{name}" if path else name, self.inner(field, name), found)

    def compare_lists(
        self, before: Sequence[Any], after: Sequence[Any], path: str, field: str, found: list[Difference], /
    ) -> None:
        one, other = self.keyed(before, path, field), self.keyed(after, path, field)
        if one is not None and other is not None:
            for key in sorted(one.keys() | other.keys()):
                self._compare_elements(one.get(key), other.get(key), f"{path}[{key}]", field, found)
            return
        removed, added = _only(before, after), _only(after, before)
        if not removed and not added:
            found.append((path, before, after))  # only the order differs
        for place in sorted(removed.keys() | added.keys()):
            self._compare_elements(removed.get(place), added.get(place), f"{path}[{place}]", field, found)

    def _compare_elements(self, one: Any, other: Any, path: str, field: str, found: list[Difference]) -> None:
        if isinstance(one, _MAPPING) and isinstance(other, _MAPPING):
            self.compare_mappings(one, other, path, field, found)
        else:
            found.append((path, one, other))


class Within(Rules):
    """Only what the first document has is compared: the second one may have more fields, and more elements with a key.
    Lists without keys are compared by position."""

    def names(self, before: Mapping[str, Any], after: Mapping[str, Any], /) -> Iterable[str]:
        return sorted(before)

    def compare(self, before: Any, after: Any, path: str, field: str, found: list[Difference], /) -> None:
        if isinstance(before, _MAPPING) and isinstance(after, _MAPPING):
            self.compare_mappings(before, after, path, field, found)
        elif isinstance(before, _LIST) and isinstance(after, _LIST) and before:
            self.compare_lists(before, after, path, field, found)
        else:
            self.compare_others(before, after, path, field, found)

    def compare_others(self, before: Any, after: Any, path: str, field: str, found: list[Difference], /) -> None:
        """The same for values that are not both containers of one sort."""
        if before != after or type(before) is not type(after):
            found.append((path, before, after))

    def compare_lists(
        self, before: Sequence[Any], after: Sequence[Any], path: str, field: str, found: list[Difference], /
    ) -> None:
        one, other = self.keyed(before, path, field), self.keyed(after, path, field)
        if one is not None and other is not None:
            for key, element in one.items():
                if key in other:
                    self.compare(element, other[key], f"{path}[{key}]", field, found)
                else:
                    found.append((f"{path}[{key}]", element, None))
        elif len(before) != len(after):
            found.append((path, before, after))
        else:
            for place, (element, there) in enumerate(zip(before, after, strict=True)):
                if type(element) is str and element == there:
                    continue
                self.compare(element, there, f"{path}[{place}]", field, found)


def compare(before: Any, after: Any, rules: Rules, path: str = "") -> list[Difference]:
    """Return where two values differ, in the order of the paths. ``path``: where they stand.

    >>> compare({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}}, Rules())
    [('a.b', 1, 3), ('c', 2, None)]
    >>> compare({"a": {"b": 1}}, {"a": {"b": 1}, "c": 2}, Within())
    []
    """
    found: list[Difference] = []
    rules.compare(before, after, path, path, found)
    return found


def _are(sort: tuple[type, ...], *values: Any) -> bool:
    """Whether one of them is a container of this sort, and none is something else."""
    return all(value is None or isinstance(value, sort) for value in values)


def _only(one: Sequence[Any], other: Sequence[Any]) -> dict[int, Any]:
    """Return the elements of ``one`` that ``other`` lacks, by their place."""
    there = Counter(map(_text, other))
    found = {}
    for place, value in enumerate(one):
        text = _text(value)
        if there[text]:
            there[text] -= 1
        else:
            found[place] = value
    return found


def _text(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


_STEP = re.compile(r"([A-Za-z0-9_-]+)|\[(\d+)\]|\.")


def text_at(documents: Mapping[str, Any], part: str) -> str:
    """Return the desired, else the actual value of ``part`` as JSON on one line. It is empty without a value, or if the
    part's name contains it (a reference). ``documents``: those two."""
    steps = _steps(part)
    for document in (documents.get("desired"), documents.get("actual")):
        value = _walk(document, steps)
        if steps and value is not None:
            return json.dumps(value, ensure_ascii=False)
    return ""


def _steps(part: str) -> list[str | int]:
    """Return the keys and positions of a part; empty if it is not a path of fields."""
    found: list[str | int] = []
    end = 0
    for step in _STEP.finditer(part):
        if step.start() != end:
            return []
        end = step.end()
        if step[1]:
            found.append(step[1])
        elif step[2]:
            found.append(int(step[2]))
    return found if end == len(part) else []


def _walk(document: Any, steps: list[str | int]) -> Any:
    for step in steps:
        if isinstance(step, int):
            document = document[step] if isinstance(document, list) and step < len(document) else None
        else:
            document = document.get(step) if isinstance(document, dict) else None
    return document
