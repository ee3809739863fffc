"""The status of a resource: which of its items compilers may claim; how items are read, replaced, compared and agreed
on; when a condition changed; and the record of who wrote an item.

A kind declares a structured type for its field ``status``. Its *items* are conditions by type (``conditions[Ready]``)
and fields by path (``loadBalancer.ingress``). Several intents, compilers and other controllers each have items of their
own, so an item is the unit of claims, merges and writes (docs/engine.md §5.8). ``planning/finalizers.py`` decides what
is written; ``evaluation/status.py`` makes claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from intentc.model.problem import InvalidInput
from intentc.model.types import TypeTable
from intentc.model.values import FrozenMap, Value

STATUS = "status"
"""The field of a stored resource."""
STATUS_CLAIMS = "status_claims"
"""The field with the items that compilers have written: installation → items, sorted."""
_CONDITIONS = "conditions"
TRANSITION_TIME = "lastTransitionTime"
OBSERVED = "observedGeneration"
CONDITION_FIELDS = ("type", "status", "reason", "message")
"""What each condition has. Some types also have ``observedGeneration`` and ``lastTransitionTime``."""


class StatusSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The status of a kind in its schema file. ``type``: a structured type. ``conditions``: the types of conditions
    that compilers claim, in its list ``conditions``. ``paths``: the fields that they claim, dots between names. Without
    both, others write the status, and evaluations may read it."""

    type: str
    conditions: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


class Status:
    """The declared status of one kind. Attributes are read-only."""

    def __init__(self, spec: StatusSpec, types: TypeTable, where: str) -> None:
        self.type_name = spec.type
        self.conditions = spec.conditions
        self.paths = spec.paths
        self.is_input = not (spec.conditions or spec.paths)
        """Whether others write it, so that evaluations may read it."""
        self._types = types
        self.struct: type[Value] = types.struct(spec.type)
        self.items = (*map(condition, spec.conditions), *spec.paths)
        """What compilers may claim, as items."""
        self.condition_type: type[Value] | None = None
        """The struct of a condition, None if the status has none."""
        declared = types.fields(spec.type).get(_CONDITIONS)
        if declared is not None and declared.list:
            self.condition_type = types.struct(declared.list)
        if spec.conditions and (
            self.condition_type is None or not set(CONDITION_FIELDS) <= set(self.condition_type.__struct_fields__)
        ):
            wanted = ", ".join(CONDITION_FIELDS)
            raise InvalidInput(f"status: {spec.type}.conditions is no list of a type with {wanted}", source=where)
        for path in spec.paths:
            try:
                self.field(path)
            except KeyError as error:
                raise InvalidInput(
                    f"status: {path}: {spec.type} has no {error.args[0]!r} there", source=where
                ) from None

    def field(self, path: str) -> tuple[Any, Any]:
        """The Python type and the default of the field at ``path``. Raises ``KeyError`` with the unknown step."""
        name = self.type_name
        steps = path.split(".")
        for step in steps[:-1]:
            name = self._types.fields(name)[step].type
        return self._types.field(self._types.fields(name)[steps[-1]])

    def part(self, value: Any, item: str) -> Any:
        """What ``item`` is in a status: a condition (None if there is none), or the value of a field."""
        if (wanted := condition_of(item)) is not None:
            return next((one for one in getattr(value, _CONDITIONS, ()) if one.type == wanted), None)
        for step in item.split("."):
            value = getattr(value, step, None)
            if value is None:
                break
        return self.field(item)[1] if value is None else value

    def is_known(self, item: str) -> bool:
        """Whether the type still has this item, whoever may claim it."""
        if condition_of(item) is not None:
            return self.condition_type is not None
        try:
            self.field(item)
        except KeyError:
            return False
        return True

    def is_set(self, value: Any, item: str) -> bool:
        """Whether an item has another value than its default."""
        default = None if condition_of(item) is not None else self.field(item)[1]
        return bool(self.part(value, item) != default)

    def with_parts(self, value: Any, parts: Mapping[str, Any]) -> Any:
        """A status like ``value`` with these items; a condition that is None is removed, a field that is None has its
        default. Conditions of others stay where they are, the given ones follow in the order of their types."""
        conditions = {found: part for item, part in parts.items() if (found := condition_of(item)) is not None}
        for item, part in parts.items():
            if condition_of(item) is None:
                default = self.field(item)[1]
                value = _replaced(value, self.struct(), item.split("."), default if part is None else part)
        if conditions:
            others = [one for one in getattr(value, _CONDITIONS) if one.type not in conditions]
            given = [conditions[name] for name in sorted(conditions) if conditions[name] is not None]
            value = msgspec.structs.replace(value, conditions=(*others, *given))
        return value


def condition(type_name: str) -> str:
    """The item of a condition.

    >>> condition("Ready")
    'conditions[Ready]'
    """
    return f"{_CONDITIONS}[{type_name}]"


def condition_of(item: str) -> str | None:
    """The condition's type in an item, None for a field."""
    return item[len(_CONDITIONS) + 1 : -1] if item.startswith(f"{_CONDITIONS}[") and item.endswith("]") else None


def timeless(value: Any) -> Any:
    """A status, or a part of one, without the times of its conditions: they follow from its changes, and are not
    compared."""
    return _mapped(value, lambda one: msgspec.structs.replace(one, **{TRANSITION_TIME: ""}) if _is_timed(one) else one)


def timed(value: Any, before: Any, now: str) -> Any:
    """A status in which each condition has a time: its own, else that of the same condition in ``before`` if its status
    is the same, else ``now`` (RFC 3339)."""
    if isinstance(value, tuple):
        former = {_identity(one, place): one for place, one in enumerate(before or ())}
        return tuple(timed(one, former.get(_identity(one, place)), now) for place, one in enumerate(value))
    if not isinstance(value, Value):
        return value
    changes = {
        field: timed(inner, getattr(before, field, None), now)
        for field in value.__struct_fields__
        if isinstance(inner := getattr(value, field), tuple | Value)
    }
    if _is_timed(value) and value.status and not getattr(value, TRANSITION_TIME):  # type: ignore[attr-defined]
        same = before is not None and before.status == value.status  # type: ignore[attr-defined]
        changes[TRANSITION_TIME] = (same and getattr(before, TRANSITION_TIME)) or now
    return msgspec.structs.replace(value, **changes) if changes else value


def without_empty(value: Any) -> Any:
    """Plain JSON without members that are empty: they mean the same as missing ones, and equal content has equal
    bytes."""
    if isinstance(value, dict):
        inner = {name: without_empty(one) for name, one in value.items()}
        return {name: one for name, one in inner.items() if one not in ({}, [])}
    return [without_empty(one) for one in value] if isinstance(value, list) else value


def _is_timed(value: Any) -> bool:
    return (
        isinstance(value, Value) and TRANSITION_TIME in value.__struct_fields__ and "status" in value.__struct_fields__
    )


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(_mapped(one, change) for one in value)
    if not isinstance(value, Value):
        return value
    inner = {name: getattr(value, name) for name in value.__struct_fields__}
    changes = {name: _mapped(one, change) for name, one in inner.items() if isinstance(one, tuple | Value)}
    return change(msgspec.structs.replace(value, **changes) if changes else value)


def _identity(value: Any, place: int) -> Any:
    """What distinguishes an element of a list: a condition's type, a name, otherwise its place."""
    return getattr(value, "type", "") if _is_timed(value) else getattr(value, "name", place)


def _replaced(value: Any, empty: Any, steps: list[str], part: Any) -> Any:
    """A struct like ``value`` (None: like ``empty``) with ``part`` at a path."""
    base = empty if value is None else value
    step, rest = steps[0], steps[1:]
    if rest:
        part = _replaced(getattr(base, step), getattr(empty, step), rest, part)
    return msgspec.structs.replace(base, **{step: part})


def claims_of(record: Mapping[str, Any], installation: str) -> tuple[str, ...]:
    """The items that compilers of ``installation`` have written, by the record in ``status_claims``. What has another
    form counts as nothing."""
    items = record.get(installation)
    return items if isinstance(items, tuple) and all(isinstance(item, str) for item in items) else ()


def with_claims(record: Mapping[str, Any], installation: str, items: Iterable[str]) -> FrozenMap:
    """A record like ``record`` in which the compilers of ``installation`` claim ``items``."""
    others = {name: given for name, given in record.items() if name != installation}
    return FrozenMap({**others, installation: sorted(items)} if items else others)


def status_item(item: str) -> str:
    """An item of the status as a part of its object."""
    return f"{STATUS}.{item}"


def common_value(values: Iterable[Any]) -> Any:
    """The one value that all claims on an item have, None if they differ. Of claims that read different generations of
    the object, the oldest counts: only that one has been seen by all."""
    found = sorted(values, key=_generation)
    first = found[0]
    return first if all(_without_generation(one) == _without_generation(first) for one in found[1:]) else None


def _generation(value: Any) -> int:
    return int(getattr(value, OBSERVED, 0))


def _without_generation(value: Any) -> Any:
    return msgspec.structs.replace(value, **{OBSERVED: 0}) if hasattr(value, OBSERVED) else value
