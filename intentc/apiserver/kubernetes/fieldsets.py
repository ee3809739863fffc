"""Sets of fields, as server-side apply owns them: paths in a manifest, and their form in ``managedFields``
and in messages (``shown``).

Why it exists: a manager owns the fields that it applied. Objects are owned field by field; who makes an object,
or a list with keys, by an update owns that, too (``objects_of``). A list is owned whole, unless the argument ``forms``
says that its elements have a key, or are a set. ``applying`` decides who owns what; here the values at
paths are found and removed for it.

A path is a tuple of steps: ``f:name`` of a field, ``k:{"name":"web"}`` of an element with keys, ``v:"x"`` of a set's
element, as in Kubernetes' ``FieldsV1``.

Pure functions of values.

Touches: nothing outside memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from .merge_keys import Forms, ListForm

Path = tuple[str, ...]
Fields = frozenset[Path]

_WHOLE = "."
_SERVERS = frozenset(
    {
        ("f:apiVersion",),
        ("f:kind",),
        *(
            ("f:metadata", f"f:{name}")
            for name in (
                "name",
                "namespace",
                "uid",
                "resourceVersion",
                "generation",
                "creationTimestamp",
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
                "managedFields",
                "selfLink",
                "generateName",
            )
        ),
    }
)
"""Fields that nobody owns."""


def fields_of(manifest: Mapping[str, Any], forms: Forms) -> Fields:
    """The fields that ``manifest`` sets, without its identity and what only the server writes."""
    found = frozenset(_leaves(manifest, forms, (), ()))
    return frozenset(path for path in found if path[:1] not in _SERVERS and path[:2] not in _SERVERS)


def objects_of(manifest: Mapping[str, Any], forms: Forms, top: frozenset[Path]) -> Fields:
    """The objects and the lists with keys that ``manifest`` has, but for ``top``: who makes one owns it, too."""
    return frozenset(path for path in _objects(manifest, forms, (), ()) if path and path not in top)


def _objects(value: Any, forms: Forms, path: Path, names: Path) -> Iterator[Path]:
    if isinstance(value, dict) and value:
        yield path
        for name, inner in value.items():
            yield from _objects(inner, forms, (*path, f"f:{name}"), (*names, name))
    elif isinstance(value, list) and value and (form := forms(names)) is not None:
        yield path
        for element in value:
            yield from _objects(element, forms, (*path, element_step(element, form)), (*names, "[]"))


def _leaves(value: Any, forms: Forms, path: Path, names: Path) -> Iterator[Path]:
    if isinstance(value, dict) and (value or not path):
        for name, inner in value.items():
            yield from _leaves(inner, forms, (*path, f"f:{name}"), (*names, name))
        return
    form = forms(names) if isinstance(value, list) else None
    if form is None or not value:
        yield path
        return
    for element in value:
        step = element_step(element, form)
        yield (*path, step)
        if isinstance(element, dict):
            yield from _leaves(element, forms, (*path, step), (*names, "[]"))


def element_step(element: Any, form: ListForm) -> str:
    """The step of a list's element: its keys, or itself."""
    if form.keys and isinstance(element, dict):
        return "k:" + _json({key: element.get(key, form.defaults.get(key)) for key in form.keys})
    return "v:" + _json(element)


def value_at(value: Any, path: Path, forms: Forms, names: Path = ()) -> Any:
    """The value at ``path``; None if there is none."""
    for position, step in enumerate(path):
        if step.startswith("f:"):
            name = step[2:]
            if not isinstance(value, dict) or name not in value:
                return None
            value, names = value[name], (*names, name)
            continue
        form = forms(names)
        if form is None or not isinstance(value, list):
            return None
        found = [element for element in value if element_step(element, form) == step]
        if not found:
            return None
        value, names = found[0], (*names, "[]")
        if position == len(path) - 1 and isinstance(value, dict):
            return {key: value.get(key) for key in form.keys}
    return value


def without(value: Any, path: Path, forms: Forms, names: Path = ()) -> Any:
    """``value`` without what stands at ``path``; objects that become empty by it are removed, too."""
    step, rest = path[0], path[1:]
    if step.startswith("f:"):
        name = step[2:]
        if not isinstance(value, dict) or name not in value:
            return value
        if rest:
            inner = without(value[name], rest, forms, (*names, name))
            if inner not in ({}, []):
                return {**value, name: inner}
        return {key: one for key, one in value.items() if key != name}
    form = forms(names)
    if form is None or not isinstance(value, list):
        return value
    result = []
    for element in value:
        if element_step(element, form) != step:
            result.append(element)
        elif rest:
            result.append(without(element, rest, forms, (*names, "[]")))
    return result


def to_json(fields: Iterable[Path]) -> dict[str, Any]:
    """As ``FieldsV1``."""
    tree: dict[str, Any] = {}
    for path in sorted(fields):
        node = tree
        for step in path:
            node = node.setdefault(step, {})
        node[_WHOLE] = {}
    return {step: _without_lone_marks(node) for step, node in tree.items()}


def _without_lone_marks(node: dict[str, Any]) -> dict[str, Any]:
    if node.keys() == {_WHOLE}:
        return {}
    return {step: {} if step == _WHOLE else _without_lone_marks(below) for step, below in node.items()}


def from_json(tree: Any) -> Fields:
    """The inverse of ``to_json``."""
    return frozenset(_read(tree if isinstance(tree, dict) else {}, ()))


def _read(tree: Mapping[str, Any], path: Path) -> Iterator[Path]:
    for step, below in tree.items():
        if step == _WHOLE:
            yield path
        elif below:
            yield from _read(below, (*path, step))
        else:
            yield (*path, step)


def shown(path: Path) -> str:
    """A path as errors name it: ``.spec.weight``, ``.spec.ports[port=80,protocol="TCP"].name``."""
    text = ""
    for step in path:
        if step.startswith("f:"):
            text += f".{step[2:]}"
        elif step.startswith("k:"):
            keys = msgspec.json.decode(step[2:])
            text += "[" + ",".join(f"{key}={_json(value)}" for key, value in keys.items()) + "]"
        else:
            text += f"[={step[2:]}]"
    return text


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
