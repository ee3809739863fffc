"""Patches of manifests: JSON merge patches (RFC 7386), strategic merge patches, and JSON patches (RFC 6902).

Why it exists: clients change single fields of a resource and leave the others alone. kubectl sends strategic merge
patches for the kinds that it knows by itself. Merge patches take time linear in their size. An operation of a JSON
patch can copy the whole resource into itself, so a short one could make the server hold gigabytes, and libraries have
no limits that end it on the way; the limits of operations and of copied bytes are those of a kube-apiserver. Nothing
that the functions get is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from intentc.model.limits import is_deeper

from ..errors import BadRequest, TooLarge, shortened
from .fieldsets import Forms, ListForm, comparable
from .status_errors import Answered

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


MOST_OPERATIONS = 10_000
MOST_COPIED = 3 * 1024 * 1024
"""Bytes, nearly as JSON, that all copies of one patch make."""
_MOST_SHIFTED = 200_000_000
"""Elements of lists that the insertions and removals of one patch shift: about 0.2 s of CPU."""
_DEEPEST = 64
_LONGEST_INDEX = 10
_MEMBERS = {
    "add": ("path", "value"),
    "remove": ("path",),
    "replace": ("path", "value"),
    "move": ("path", "from"),
    "copy": ("path", "from"),
    "test": ("path", "value"),
}
_END = "-"


def patched(target: Any, operations: Any) -> Any:
    """``target`` after a JSON patch. Raises ``BadRequest`` for what is no patch, ``Answered`` (422) if it does not fit,
    ``TooLarge`` for one that exceeds a limit."""
    if not isinstance(operations, list):
        raise BadRequest("a JSON patch is a list of operations: [{op, path, value}]")
    if len(operations) > MOST_OPERATIONS:
        raise TooLarge(
            f"the allowed maximum operations in a JSON patch is {MOST_OPERATIONS:,}, got {len(operations):,}; split it"
        )
    patch = _Patch(target)
    for place, operation in enumerate(operations):
        patch.carry_out(place, operation)
    if is_deeper(patch.root, _DEEPEST):
        raise _misfit(f"the result is nested deeper than {_DEEPEST} levels")
    return patch.root


def copies(operations: Any) -> bool:
    """Whether a JSON patch may make much more than it holds."""
    return isinstance(operations, list) and any(isinstance(one, dict) and one.get("op") == "copy" for one in operations)


class _Patch:
    """A document under change, and what the operations have cost so far."""

    def __init__(self, target: Any) -> None:
        self.root = _copy(target)
        self._copied = 0
        self._shifted = 0

    def carry_out(self, place: int, operation: Any) -> None:
        name = operation.get("op") if isinstance(operation, dict) else None
        if not isinstance(name, str) or name not in _MEMBERS:
            raise BadRequest(f"this is no JSON patch: operation {place} has no op of {', '.join(_MEMBERS)}")
        for member in _MEMBERS[name]:
            if member not in operation:
                raise BadRequest(f"this is no JSON patch: operation {place} ({name}) has no {member}")
        path = _steps(operation["path"], place)
        if name == "test":
            if not _equal(self._at(path), operation["value"]):
                raise _misfit(f"operation {place}: the value at {shortened(operation['path'])!r} is another one")
        elif name == "remove":
            self._remove(path)
        elif name in ("add", "replace"):
            # The patch may be applied again, to a newer state, so what it holds must not change.
            self._put(path, _copy(operation["value"]), replaces=name == "replace")
        else:
            source = _steps(operation["from"], place)
            if name == "copy":
                self._put(path, self._counted_copy(self._at(source)))
            elif len(source) < len(path) and path[: len(source)] == source:
                raise _misfit(f"operation {place} moves a value into itself")
            elif source == path:
                self._at(path)
            else:
                self._put(path, self._remove(source))

    def _at(self, path: Sequence[str]) -> Any:
        value = self.root
        for step in path:
            if isinstance(value, list):
                value = value[_index(step, len(value) - 1)]
            elif isinstance(value, dict) and step in value:
                value = value[step]
            else:
                raise _missing(step)
        return value

    def _put(self, path: Sequence[str], value: Any, *, replaces: bool = False) -> None:
        if not path:
            self.root = value
            return
        holder, step = self._at(path[:-1]), path[-1]
        if isinstance(holder, dict):
            if replaces and step not in holder:
                raise _missing(step)
            holder[step] = value
        elif not isinstance(holder, list):
            raise _missing(step)
        elif replaces:
            holder[_index(step, len(holder) - 1)] = value
        elif step == _END:
            holder.append(value)
        else:
            at = _index(step, len(holder))
            self._count_shifted(len(holder) - at)
            holder.insert(at, value)

    def _remove(self, path: Sequence[str]) -> Any:
        if not path:
            raise _misfit("the whole resource can't be removed or moved")
        holder, step = self._at(path[:-1]), path[-1]
        if isinstance(holder, dict) and step in holder:
            return holder.pop(step)
        if not isinstance(holder, list):
            raise _missing(step)
        at = _index(step, len(holder) - 1)
        self._count_shifted(len(holder) - at)
        return holder.pop(at)

    def _counted_copy(self, value: Any, depth: int = 0) -> Any:
        if depth > _DEEPEST:
            raise _misfit(f"a copied value is nested deeper than {_DEEPEST} levels")
        self._copied += 2 + (len(value) if isinstance(value, str) else 0)
        if self._copied > MOST_COPIED:
            raise TooLarge(
                f"the copies of this JSON patch have more than {MOST_COPIED:,} bytes together, the allowed maximum; "
                f"send the values themselves"
            )
        if isinstance(value, dict):
            self._copied += sum(map(len, value)) + 4 * len(value)
            return {name: self._counted_copy(inner, depth + 1) for name, inner in value.items()}
        return [self._counted_copy(inner, depth + 1) for inner in value] if isinstance(value, list) else value

    def _count_shifted(self, elements: int) -> None:
        self._shifted += elements
        if self._shifted > _MOST_SHIFTED:
            raise TooLarge(
                f"this JSON patch shifts more than {_MOST_SHIFTED:,} elements of lists, the allowed maximum; replace "
                f"the list as a whole"
            )


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(inner) for name, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def _steps(pointer: Any, place: int) -> list[str]:
    """The steps of a JSON pointer (RFC 6901)."""
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise BadRequest(f"this is no JSON patch: operation {place}: a path is empty or begins with /")
    steps = pointer.split("/")[1:]
    if len(steps) > _DEEPEST:
        raise _misfit(f"operation {place}: a path has more than {_DEEPEST} steps")
    return [step.replace("~1", "/").replace("~0", "~") if "~" in step else step for step in steps]


def _index(step: str, last: int) -> int:
    """An index of a list, 0 to ``last``."""
    is_index = step.isascii() and step.isdigit() and len(step) <= _LONGEST_INDEX and (step == "0" or step[0] != "0")
    if not is_index or int(step) > last:
        raise _misfit(f"{shortened(step)!r} is no index of a list of {last + 1}")
    return int(step)


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: ``true`` is not 1. As deep as ``other``, which the patch holds."""
    if isinstance(other, dict):
        same = isinstance(one, dict) and one.keys() == other.keys()
        return same and all(_equal(one[name], inner) for name, inner in other.items())
    if isinstance(other, list):
        same = isinstance(one, list) and len(one) == len(other)
        return same and all(map(_equal, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _missing(step: str) -> Answered:
    return _misfit(f"there is no {shortened(step)!r}")


def _misfit(reason: str) -> Answered:
    return Answered(422, "Invalid", f"the JSON patch does not fit the resource: {reason}", about={})
