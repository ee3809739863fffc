"""Sets of fields, as server-side apply owns them, and how lists in manifests are merged.

Why it exists: a manager owns the fields that it applied. Objects are owned field by field; who makes an object, or a
list with keys, by an update owns that, too (``objects_of``). A list is merged, and owned, whole, unless its ``Forms``
say that its elements have a key, or are a set: strategic merge patches and server-side apply need this, and a schema
file does not say it. ``server_side_apply`` decides who owns what; here the values at paths are found and removed for
it.

A path is a tuple of steps: ``f:name`` of a field, ``k:{"name":"web"}`` of an element with keys, ``v:"x"`` of a set's
element, as in Kubernetes' ``FieldsV1``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec


class ListForm(NamedTuple):
    """``keys``: the fields that identify an element; empty: a set of plain values. ``patch_key``: the one by which
    strategic merge patches name an element. ``defaults``: of keys that are not given."""

    keys: tuple[str, ...] = ()
    patch_key: str = ""
    defaults: Mapping[str, Any] = {}


SET = ListForm()
_NAMED = ListForm(("name",), "name")
_CONTAINER_PORTS = ListForm(("containerPort", "protocol"), "containerPort", {"protocol": "TCP"})

_EVERYWHERE: Mapping[tuple[str, ...], ListForm] = {
    ("metadata", "finalizers"): SET,
    ("metadata", "ownerReferences"): ListForm(("uid",), "uid"),
}
_BUILT_IN: Mapping[tuple[str, ...], ListForm] = {
    ("status", "conditions"): ListForm(("type",), "type"),
    ("spec", "ports"): ListForm(("port", "protocol"), "port", {"protocol": "TCP"}),
}
_IN_PODS: Mapping[tuple[str, ...], ListForm] = {
    ("containers",): _NAMED,
    ("initContainers",): _NAMED,
    ("volumes",): _NAMED,
    ("imagePullSecrets",): _NAMED,
    ("containers", "[]", "env"): _NAMED,
    ("initContainers", "[]", "env"): _NAMED,
    ("containers", "[]", "ports"): _CONTAINER_PORTS,
    ("initContainers", "[]", "ports"): _CONTAINER_PORTS,
    ("containers", "[]", "volumeMounts"): ListForm(("mountPath",), "mountPath"),
    ("initContainers", "[]", "volumeMounts"): ListForm(("mountPath",), "mountPath"),
}
"""A list's path (``[]``: an element) in a manifest, or in the spec of a pod → its form."""

_POD_SPECS = (("spec",), ("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec"))

Forms = Callable[[tuple[str, ...]], ListForm | None]
"""The path of a list → how it is merged; None: it is replaced whole."""


def built_in(names: tuple[str, ...]) -> ListForm | None:
    """``Forms`` of the kinds that kubectl knows by itself."""
    for place in _POD_SPECS:
        if names[: len(place)] == place and names[len(place) :] in _IN_PODS:
            return _IN_PODS[names[len(place) :]]
    return _BUILT_IN.get(names) or custom(names)


def custom(names: tuple[str, ...]) -> ListForm | None:
    """``Forms`` of all other kinds: only ``metadata`` has lists that are merged."""
    return _EVERYWHERE.get(names)


def comparable(value: Any) -> Any:
    """A plain value as a key of an index: equal for equal values."""
    return (msgspec.json.encode(value, order="sorted"),) if isinstance(value, dict | list) else value


Path = tuple[str, ...]
Fields = frozenset[Path]
_Tree: TypeAlias = dict[str, "_Tree"]
"""Step → what is below it; a path ends at a node with ``_WHOLE``."""

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
    """The objects and the lists with keys that ``manifest`` has, except ``top``: who makes one owns it, too."""
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


class Values:
    """The values at paths of a manifest. Lists with keys are indexed once, so each path takes as long as it has
    steps."""

    def __init__(self, manifest: Mapping[str, Any], forms: Forms) -> None:
        self._manifest = manifest
        self._forms = forms
        self._elements: dict[Path, dict[str, Any]] = {}

    def at(self, path: Path) -> Any:
        """The value at ``path``; None if there is none. Of an object that is the element of a list: its keys."""
        value: Any = self._manifest
        names: Path = ()
        for position, step in enumerate(path):
            if step.startswith("f:"):
                name = step[2:]
                if not isinstance(value, dict) or name not in value:
                    return None
                value, names = value[name], (*names, name)
                continue
            form = self._forms(names)
            if form is None or not isinstance(value, list):
                return None
            elements = self._indexed(path[:position], value, form)
            if step not in elements:
                return None
            value, names = elements[step], (*names, "[]")
            if position == len(path) - 1 and isinstance(value, dict):
                return {key: value.get(key) for key in form.keys}
        return value

    def _indexed(self, path: Path, elements: list[Any], form: ListForm) -> dict[str, Any]:
        if path not in self._elements:
            # Of several elements with the same keys the first one counts.
            self._elements[path] = {element_step(one, form): one for one in reversed(elements)}
        return self._elements[path]


def without(value: Any, paths: Iterable[Path], forms: Forms) -> Any:
    """``value`` without what stands at ``paths``; objects that become empty by it are removed, too."""
    return _without(value, _tree(paths), forms, ())


def _tree(paths: Iterable[Path]) -> _Tree:
    tree: _Tree = {}
    for path in paths:
        node = tree
        for step in path:
            node = node.setdefault(step, {})
        node[_WHOLE] = {}
    return tree


def _without(value: Any, tree: _Tree, forms: Forms, names: Path) -> Any:
    if isinstance(value, dict):
        result = dict(value)
        for step, below in tree.items():
            name = step[2:]
            if not step.startswith("f:") or name not in value:
                continue
            inner = None if _WHOLE in below else _without(value[name], below, forms, (*names, name))
            if _WHOLE in below or inner in ({}, []):
                del result[name]
            else:
                result[name] = inner
        return result
    form = forms(names) if isinstance(value, list) else None
    if form is None:
        return value
    keys = {f"f:{key}" for key in form.keys}
    kept = []
    for element in value:
        below = tree.get(element_step(element, form), {})
        if _WHOLE in below:
            continue
        # An element that stays, since others own fields of it, keeps what identifies it.
        removed = {step: node for step, node in below.items() if step not in keys}
        kept.append(_without(element, removed, forms, (*names, "[]")) if removed else element)
    return kept


def to_json(fields: Iterable[Path]) -> dict[str, Any]:
    """As ``FieldsV1``."""
    tree = _tree(fields)
    return {step: _without_lone_marks(tree[step]) for step in sorted(tree)}


def _without_lone_marks(node: dict[str, Any]) -> dict[str, Any]:
    if node.keys() == {_WHOLE}:
        return {}
    return {step: {} if step == _WHOLE else _without_lone_marks(node[step]) for step in sorted(node)}


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
