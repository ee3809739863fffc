"""Changes single elements of properties that are maps or lists (docs/contrail.md B.2 ``/prop-collection-update``).

Why it exists: two clients that each add an element must not overwrite each other's, as they would if they replaced the
whole property. The schema says which properties are collections, and which field is the key of a map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from intentc.model import Kind, kebab

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
    sort: str
    inner: str
    map_key: str


def apply(kind: Kind, document: Document, updates: Sequence[ElementUpdate]) -> Document:
    """``document`` with all updates applied in order.

    Raises ``BadRequest`` for an unknown field, operation or position.
    """
    changed = dict(document)
    for update in updates:
        collection = _collection(kind, update)
        whole: Any = changed.get(update.field)
        elements = list(((whole or {}).get(collection.inner) if collection.inner else whole) or ())
        _change(elements, collection, update)
        changed[update.field] = {**(whole or {}), collection.inner: elements} if collection.inner else elements
    return changed


def _collection(kind: Kind, update: ElementUpdate) -> _Collection:
    if update.field == _ANNOTATIONS:
        collection = _Collection("map", "key_value_pair", "key")
    else:
        declared = kind.properties.get(update.field)
        if declared is None or not declared.collection:
            known = [_ANNOTATIONS, *(p.name for p in kind.properties.values() if p.collection)]
            raise BadRequest(
                f"{kebab(kind.name)} has no collection {update.field!r}; its collections are {', '.join(sorted(known))}"
            )
        inner = ""
        if not declared.spec.list and declared.spec.type != "opaque":
            inner = next(name for name, spec in kind.types.fields(declared.spec.type).items() if spec.list)
        collection = _Collection(declared.collection, inner, declared.map_key)
    if update.operation not in _OPERATIONS[collection.sort]:
        raise BadRequest(
            f"{update.field} is a {collection.sort}: operation must be one of "
            f"{', '.join(_OPERATIONS[collection.sort])}, not {update.operation!r}"
        )
    return collection


def _change(elements: list[Any], collection: _Collection, update: ElementUpdate) -> None:
    if collection.sort == "list":
        _change_list(elements, update)
        return
    key = update.position
    if not key and isinstance(update.value, dict):
        key = str(update.value.get(collection.map_key) or "")
    if not key:
        raise BadRequest(f"{update.field}: position, the key of the element, is missing")
    others = [element for element in elements if element.get(collection.map_key) != key]
    if update.operation == "set":
        if not isinstance(update.value, dict) or update.value.get(collection.map_key, key) != key:
            raise BadRequest(f"{update.field}: value must be an object whose {collection.map_key} is {key!r}")
        others.append({**update.value, collection.map_key: key})
    elements[:] = others


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
