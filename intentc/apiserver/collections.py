"""Reads and changes single elements of properties that are maps or lists (docs/contrail.md B.2).

Why it exists: two clients that each add an element must not overwrite each other's, as they would if they replaced the
whole property. The schema says which properties are collections, and which field is the key of a map; ``annotations``
always is one. ``api_server`` stages the result in a mutation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from intentc.model import Kind, kebab
from intentc.model.values import without_nulls

from .documents import Document
from .errors import BadRequest, shortened
from .integers import parse_integer

_OPERATIONS = {"map": ("set", "delete"), "list": ("add", "modify", "delete")}
_ANNOTATIONS = "annotations"


class ElementUpdate(NamedTuple):
    """One element of ``updates``. ``position``: a map's key, or a list's index as text."""

    field: str
    operation: str
    value: Any = None
    position: str = ""


class _Collection(NamedTuple):
    """``inner``: the field of the property that holds the elements, or empty. ``map_key``: the key's field in them."""

    sort: str
    inner: str
    map_key: str

    def elements(self, value: Any) -> list[Any]:
        """The elements of a stored property."""
        return list(((value or {}).get(self.inner) if self.inner else value) or ())

    def position(self, place: int, element: Any) -> str:
        """The position by which an element is changed: its key, or its index as text."""
        return str(element.get(self.map_key, "")) if self.sort == "map" else str(place)


def read(kind: Kind, document: Document, fields: Sequence[str], position: str = "") -> dict[str, list[list[Any]]]:
    """Field → ``[element, position]`` of each element, or of the one at ``position``.

    Raises ``BadRequest`` for a field that is no collection.
    """
    found: dict[str, list[list[Any]]] = {}
    for field in fields:
        collection = _collection(kind, field)
        placed = [
            [element, collection.position(place, element)]
            for place, element in enumerate(collection.elements(document.get(field)))
        ]
        found[field] = [entry for entry in placed if position in ("", entry[1])]
    return found


def apply(kind: Kind, document: Document, updates: Sequence[ElementUpdate]) -> Document:
    """``document`` with all updates applied in order.

    Raises ``BadRequest`` for an unknown field, operation or position.
    """
    changed = dict(document)
    opened: dict[str, _Opened] = {}
    for update in updates:
        if update.field not in opened:
            opened[update.field] = _Opened(_collection(kind, update.field), document.get(update.field))
        collection = opened[update.field].collection
        if update.operation not in _OPERATIONS[collection.sort]:
            raise BadRequest(
                f"{update.field} is a {collection.sort}: operation must be one of "
                f"{', '.join(_OPERATIONS[collection.sort])}, not {shortened(update.operation)!r}"
            )
        opened[update.field].change(update._replace(value=without_nulls(update.value)))
    for field, one in opened.items():
        elements, inner = one.elements(), one.collection.inner
        changed[field] = {**(document.get(field) or {}), inner: elements} if inner else elements
    return changed


class _Opened:
    """The elements of one property under change; those of a map by their keys."""

    def __init__(self, collection: _Collection, whole: Any) -> None:
        self.collection = collection
        self._elements = collection.elements(whole)
        self._removed: set[int] = set()
        self._places: dict[str, list[int]] = {}
        if collection.sort == "map":
            for place, element in enumerate(self._elements):
                self._places.setdefault(collection.position(place, element), []).append(place)

    def elements(self) -> list[Any]:
        """What is left."""
        return [element for place, element in enumerate(self._elements) if place not in self._removed]

    def change(self, update: ElementUpdate) -> None:
        """Apply one update."""
        if self.collection.sort == "list":
            _change_list(self._elements, update)
            return
        map_key = self.collection.map_key
        value = update.value if isinstance(update.value, dict) else {}
        key = update.position or str(value.get(map_key, ""))
        if not key:
            raise BadRequest(f"{update.field}: position, the key of the element, is missing")
        places = self._places.pop(key, [])
        if update.operation == "delete":
            self._removed.update(places)
            return
        if update.value is not value or str(value.get(map_key, key)) != key:
            raise BadRequest(f"{update.field}: value must be an object whose {map_key} is {shortened(key)!r}")
        # A key that is no text, as those of QoS entries, can't be made of the position: it has to be in the value.
        entry = value if map_key in value else {**value, map_key: key}
        if places:
            self._elements[places[0]] = entry
            self._removed.update(places[1:])
        else:
            places = [len(self._elements)]
            self._elements.append(entry)
        self._places[key] = places[:1]


def _collection(kind: Kind, field: str) -> _Collection:
    if field == _ANNOTATIONS:
        return _Collection("map", "key_value_pair", "key")
    declared = kind.properties.get(field)
    if declared is None or not declared.collection:
        known = [_ANNOTATIONS, *(p.name for p in kind.properties.values() if p.collection)]
        raise BadRequest(
            f"{kebab(kind.name)} has no collection {shortened(field)!r}; its collections are {', '.join(sorted(known))}"
        )
    inner = ""
    if not declared.spec.list:
        inner = next(name for name, spec in kind.types.fields(declared.spec.type).items() if spec.list)
    return _Collection(declared.collection, inner, declared.map_key)


def _change_list(elements: list[Any], update: ElementUpdate) -> None:
    if update.operation in ("add", "modify") and update.value is None:
        raise BadRequest(f"{update.field}: value is missing")
    if update.operation == "add" and not update.position:
        elements.append(update.value)
        return
    last = len(elements) if update.operation == "add" else len(elements) - 1
    place = parse_integer(update.position)
    if place is None or place > last:
        raise BadRequest(
            f"{update.field}: position {shortened(update.position)!r} is no index of a list of {len(elements)}"
        )
    if update.operation == "add":
        elements.insert(place, update.value)
    elif update.operation == "modify":
        elements[place] = update.value
    else:
        del elements[place]
