"""Patches of manifests: JSON merge patches (RFC 7386) and strategic merge patches, in time linear in their size.

Why it exists: clients change single fields of a resource and leave the others alone. kubectl sends strategic merge
patches for the kinds that it knows by itself. JSON patches are in ``json_patches``, server-side apply in ``applying``.

Pure functions of values: nothing that they get is changed.
"""

from __future__ import annotations

from typing import Any

from ..errors import BadRequest
from .merge_keys import Forms, ListForm, comparable

MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

_DIRECTIVE = "$patch"
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_RETAIN = "$retainKeys"
Names = tuple[str, ...]


def merged(target: Any, patch: Any) -> Any:
    """``target`` after a JSON merge patch: objects are merged, null removes, all else replaces.

    >>> merged({"a": 1, "b": {"c": 2, "d": 3}}, {"a": None, "b": {"c": 4}})
    {'b': {'c': 4, 'd': 3}}
    """
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def strategic(target: Any, patch: Any, forms: Forms, names: Names = ()) -> Any:
    """``target`` after a strategic merge patch: as ``merged``, but lists with a form are merged by element.

    Raises ``BadRequest`` for directives that can't be read.
    """
    if not isinstance(patch, dict):
        return patch
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != _DIRECTIVE and value is not None}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise BadRequest(f"{_DIRECTIVE} is {directive!r}; there are merge, replace and delete")
    result = dict(target) if isinstance(target, dict) else {}
    if isinstance(patch.get(_RETAIN), list):
        retained = {name for name in patch[_RETAIN] if isinstance(name, str)}
        result = {name: value for name, value in result.items() if name in retained}
    for name, value in patch.items():
        if name.startswith(_DELETE_FROM):
            field = name.removeprefix(_DELETE_FROM)
            if not isinstance(value, list):
                raise BadRequest(f"{name}: a list of the values to delete is expected")
            if isinstance(result.get(field), list):
                result[field] = _except(result[field], value)
        elif name in (_DIRECTIVE, _RETAIN) or name.startswith(_ORDER):
            continue
        elif value is None:
            result.pop(name, None)
        elif isinstance(value, list):
            result[name] = _list(result.get(name), value, forms, (*names, name))
        else:
            result[name] = strategic(result.get(name), value, forms, (*names, name))
    for name, order in patch.items():
        if name.startswith(_ORDER) and isinstance(order, list):
            field = name.removeprefix(_ORDER)
            if isinstance(result.get(field), list):
                result[field] = _ordered(result[field], order, forms((*names, field)))
    return result


def _list(target: Any, patch: list[Any], forms: Forms, names: Names) -> list[Any]:
    form = forms(names)
    if form is None:
        return patch
    result = list(target) if isinstance(target, list) else []
    if not form.keys:
        return [*patch, *_except(result, patch)]
    if any(isinstance(one, dict) and one.get(_DIRECTIVE) == "replace" and len(one) == 1 for one in patch):
        return [one for one in patch if not (isinstance(one, dict) and _DIRECTIVE in one)]
    key = form.patch_key
    places: dict[Any, list[int]] = {}
    for at, one in enumerate(result):
        if isinstance(one, dict):
            places.setdefault(comparable(one.get(key)), []).append(at)
    removed: set[int] = set()
    for element in patch:
        if not isinstance(element, dict) or key not in element:
            raise BadRequest(f"an element of {'.'.join(names)} has no {key!r}, by which such elements are merged")
        found = places.setdefault(comparable(element[key]), [])
        if element.get(_DIRECTIVE) == "delete":
            removed.update(found)
            found.clear()
        elif found:
            result[found[0]] = strategic(result[found[0]], element, forms, (*names, "[]"))
        else:
            found.append(len(result))
            result.append(strategic({}, element, forms, (*names, "[]")))
    return [one for at, one in enumerate(result) if at not in removed]


def _except(elements: list[Any], removed: list[Any]) -> list[Any]:
    known = set(map(comparable, removed))
    return [one for one in elements if comparable(one) not in known]


def _ordered(elements: list[Any], order: list[Any], form: ListForm | None) -> list[Any]:
    """``elements`` in the order that a patch names; those that it does not name stay behind the one before them."""
    key = form.patch_key if form is not None else ""

    def named(one: Any) -> Any:
        return one.get(key) if key and isinstance(one, dict) else one

    ranks = {str(named(one)): rank for rank, one in enumerate(order)}
    placed: list[tuple[float, int, Any]] = []
    last = -1.0
    for position, element in enumerate(elements):
        last = ranks.get(str(named(element)), last)
        placed.append((last, position, element))
    return [element for _, _, element in sorted(placed, key=lambda one: one[:2])]
