"""Compares the fields that we own of an object with what a cluster has (docs/engine.md §13.2), and completes the keys
of list elements.

What we don't name is not compared: defaults that the cluster fills in and fields of other managers are no drift. Lists
whose elements have a key in Kubernetes are compared by that key, so that a sidecar which somebody added is no drift
either; other lists are compared as a whole. A zero value that the cluster leaves out equals an absent one, and
quantities are compared as numbers, since the cluster writes them in its own form.

Pure functions of values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from intentc.model.comparison import Difference, Within, compare

_KEYS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "ports": (("containerPort", "protocol"), ("port", "protocol")),
    "volumeMounts": (("mountPath",),),
    "hostAliases": (("ip",),),
    "conditions": (("type",),),
    "containers": (("name",),),
    "initContainers": (("name",),),
    "env": (("name",),),
    "volumes": (("name",),),
    "imagePullSecrets": (("name",),),
}
"""Field → the keys by which Kubernetes joins the elements of such a list; the first that all elements have."""
_DEFAULTS = {"protocol": "TCP"}
"""What a part of a key means that is left out."""
_WITH_PORTS = frozenset({"", "apps", "batch"})
"""The groups of Services, pods, and what has templates of pods."""
_QUANTITIES = frozenset({"limits", "requests", "capacity", "hard", "overhead"})
"""Fields whose values are quantities."""
_SUFFIXES = {
    "": Decimal(1), "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6, "G": Decimal(10) ** 9, "T": Decimal(10) ** 12, "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18, "Ki": Decimal(2) ** 10, "Mi": Decimal(2) ** 20, "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40, "Pi": Decimal(2) ** 50, "Ei": Decimal(2) ** 60,
}  # fmt: skip


def differences(owned: Any, live: Any) -> tuple[str, ...]:
    """The paths at which ``live`` (plain JSON) differs from the fields in ``owned``, with dots; elements of lists have
    their key or their position in brackets.

    >>> differences({"spec": {"replicas": 2}}, {"spec": {"replicas": 3, "paused": True}})
    ('spec.replicas',)
    """
    return tuple([path for path, _, _ in compare(owned, live, _OWNED)])


def with_list_keys(body: Mapping[str, Any]) -> dict[str, Any]:
    """An object of Kubernetes' own with the keys of list elements that its authors left out: the protocol of ports. An
    older server needs them in an apply.

    >>> with_list_keys({"apiVersion": "v1", "spec": {"ports": [{"port": 80}]}})["spec"]
    {'ports': [{'port': 80, 'protocol': 'TCP'}]}
    """
    group, _, _ = str(body.get("apiVersion", "")).rpartition("/")
    return {name: _with_keys(value, name) for name, value in body.items()} if group in _WITH_PORTS else dict(body)


def _with_keys(value: Any, field: str) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_keys(inner, name) for name, inner in value.items()}
    if not isinstance(value, list | tuple):
        return value
    elements = [_with_keys(element, field) for element in value]
    if field == "ports" and all(isinstance(one, Mapping) and {"port", "containerPort"} & one.keys() for one in value):
        return [{**one, **{part: one.get(part, default) for part, default in _DEFAULTS.items()}} for one in elements]
    return elements


def is_below(path: str, prefixes: Sequence[str]) -> bool:
    """Whether a path is one of ``prefixes``, or lies below one of them, or above one: then that changes as well."""
    return any(_leads_to(path, prefix) or _leads_to(prefix, path) for prefix in prefixes)


def _leads_to(path: str, other: str) -> bool:
    return path == other or path.startswith((f"{other}.", f"{other}["))


class _Owned(Within):
    """Elements of lists have Kubernetes' keys, zero values equal absent ones, and quantities are numbers."""

    def inner(self, field: str, name: str, /) -> str:
        # Elements below a field of quantities have that field's meaning.
        return field if field in _QUANTITIES else name

    def compare_others(self, before: Any, after: Any, path: str, field: str, found: list[Difference], /) -> None:
        if after is None and isinstance(before, Mapping):
            # It may consist of zero values alone, which the cluster leaves out.
            self.compare_mappings(before, {}, path, field, found)
        elif not (_is_zero(before) and _is_zero(after)) and not _same(before, after, field):
            found.append((path, before, after))

    def keyed(self, elements: Sequence[Any], path: str, field: str, /) -> Mapping[str, Any] | None:
        for key in _KEYS.get(field, ()):
            if all(isinstance(element, Mapping) and key[0] in element for element in elements):
                found = {
                    ",".join(str(element.get(part, _DEFAULTS.get(part, ""))) for part in key): element
                    for element in elements
                }
                return found if len(found) == len(elements) else None
        return None


_OWNED = _Owned()


def _is_zero(value: Any) -> bool:
    return value is None or value is False or value in ({}, [], (), "", 0)


def _same(owned: Any, live: Any, field: str) -> bool:
    if isinstance(owned, bool) or isinstance(live, bool):
        return owned is live
    if owned == live:
        return True
    if field in _QUANTITIES:
        one, other = _quantity(owned), _quantity(live)
        return one is not None and one == other
    return False


def _quantity(value: Any) -> Decimal | None:
    text = str(value).strip()
    digits = text.rstrip("numkKMGTPEi")
    factor = _SUFFIXES.get(text[len(digits) :])
    try:
        return Decimal(digits) * factor if factor is not None else None
    except InvalidOperation:
        return None
