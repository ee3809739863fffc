"""Patches of manifests: JSON merge patches (RFC 7386), JSON patches (RFC 6902), strategic merge patches.

Why it exists: clients change single fields of a resource and leave the others alone. kubectl sends strategic merge
patches for the kinds that it knows by itself. Server-side apply is in ``applying``.

Pure functions of values: nothing that they get is changed.

Touches: nothing outside memory.
"""

from __future__ import annotations

import copy
from typing import Any

from ..errors import BadRequest
from .failures import Answered
from .merge_keys import Forms, ListForm

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


def patched(target: Any, operations: Any) -> Any:
    """``target`` after a JSON patch. Raises ``BadRequest`` for what is no patch, ``Answered`` if it does not fit."""
    import jsonpatch
    import jsonpointer

    if not isinstance(operations, list):
        raise BadRequest("a JSON patch is a list of operations: [{op, path, value}]")
    try:
        return jsonpatch.JsonPatch(operations).apply(target)
    except (jsonpatch.InvalidJsonPatch, AttributeError, TypeError) as error:
        raise BadRequest(f"this is no JSON patch: {error}") from None
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
        message = f"the JSON patch does not fit the resource: {error}"
        raise Answered(422, "Invalid", message, about={}) from None


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
        result = {name: value for name, value in result.items() if name in patch[_RETAIN]}
    for name, value in patch.items():
        if name.startswith(_DELETE_FROM):
            field = name.removeprefix(_DELETE_FROM)
            result[field] = [one for one in result.get(field) or () if one not in (value or ())]
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
        return copy.deepcopy(patch)
    result = list(target) if isinstance(target, list) else []
    if not form.keys:
        return [*patch, *(one for one in result if one not in patch)]
    if any(isinstance(one, dict) and one.get(_DIRECTIVE) == "replace" and len(one) == 1 for one in patch):
        return [one for one in patch if not (isinstance(one, dict) and _DIRECTIVE in one)]
    key = form.patch_key
    for element in patch:
        if not isinstance(element, dict) or key not in element:
            raise BadRequest(f"an element of {'.'.join(names)} has no {key!r}, by which such elements are merged")
        places = [at for at, one in enumerate(result) if isinstance(one, dict) and one.get(key) == element[key]]
        if element.get(_DIRECTIVE) == "delete":
            result = [one for at, one in enumerate(result) if at not in places]
        elif places:
            result[places[0]] = strategic(result[places[0]], element, forms, (*names, "[]"))
        else:
            result.append(strategic({}, element, forms, (*names, "[]")))
    return result


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
