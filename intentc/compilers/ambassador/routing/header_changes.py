"""Reads which headers a Mapping, or the Module by default, adds and removes, and by which labels rate limits count
requests, so that Envoy accepts the result.

Envoy rejects a whole route configuration for one header that must not be changed or one stray ``%``; so such an entry
is left out here, and reported (docs/ambassador.md §4.2, §4.3). Rules for a single header are in
``settings/header_rules.py``.

``labels`` in v3alpha1 are ``{domain: [{group: [action, …]}, …]}`` with one of Envoy's actions each; in v2 with short
forms (``remote_address``; ``{generic_key: text}``; ``{key: {header: name}}``; a text). Each group is one descriptor,
and begins with the Module's ``default_labels`` for the domain. A request that lacks a header of a group has no
descriptor of that group; ``omit_if_not_present`` is accepted, and does not change that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from intentc import View

from ..plain import plain, texts
from ..settings.header_rules import MOST_ADDITIONS, addition, unremovable
from ..settings.module_settings import MappingDefaults, ModuleSettings
from ..settings.traffic import HeaderAddition, LabelAction
from .route_action import HeaderChanges

Report = Callable[[str, str], None]
"""``ctx.problem`` or another receiver of problems: (reason, message)."""


def header_changes(mapping: View, defaults: MappingDefaults, report: Report) -> HeaderChanges:
    """The header changes of ``mapping``; for each of the four fields that it does not set, the Module's. An empty field
    means none."""
    return HeaderChanges(
        add_request=_added(mapping, "add_request_headers", defaults.add_request_headers, report),
        add_response=_added(mapping, "add_response_headers", defaults.add_response_headers, report),
        remove_request=_removed(mapping, "remove_request_headers", defaults.remove_request_headers, report),
        remove_response=_removed(mapping, "remove_response_headers", defaults.remove_response_headers, report),
    )


def _added(
    mapping: View, field: str, default: tuple[HeaderAddition, ...], report: Report
) -> tuple[HeaderAddition, ...]:
    given = mapping.field(field)
    return default if given is None else tuple(additions(plain(given), field, report))


def additions(given: dict[str, Any], field: str, report: Report) -> Iterator[HeaderAddition]:
    """The additions in ``{name: value}`` or ``{name: {value, append}}`` that Envoy accepts; ``field`` holds them."""
    taken = 0
    for name, value in sorted(given.items()):
        try:
            found = addition(name, value)
        except ValueError as error:
            report("InvalidHeader", f"{field}[{name!r}]: {error}; it is left out")
            continue
        if taken < MOST_ADDITIONS:
            taken += 1
            yield found
        else:
            report("InvalidHeader", f"{field}[{name!r}]: there are more than {MOST_ADDITIONS}; it is left out")


def _removed(mapping: View, field: str, default: tuple[str, ...], report: Report) -> tuple[str, ...]:
    given = mapping.field(field)
    if given is None:
        return default
    try:
        names = texts(given)
    except ValueError as error:
        report("InvalidHeader", f"{field}: {error}; it is left out")
        return default
    return tuple(name for name in dict.fromkeys(names) if removable(name, field, report))


def removable(name: str, field: str, report: Report) -> bool:
    """Whether a header called ``name`` may be removed; reports it if not."""
    wrong = unremovable(name)
    if wrong:
        report("InvalidHeader", f"{field}: {name!r}: {wrong}; it is left out")
    return not wrong


_WITHOUT_FIELDS = ("source_cluster", "destination_cluster", "remote_address")
_KINDS = (*_WITHOUT_FIELDS, "generic_key", "request_headers")

RateLimits = tuple[tuple[LabelAction, ...], ...]


def rate_limits(labels: Any, domain: str, module: ModuleSettings) -> RateLimits:
    """The descriptors for ``domain``, that of the RateLimitService.

    Raises ``ValueError`` if the labels have another form: a request that is not counted at all would bypass the limit.
    """
    defaults = next((each.actions for each in module.default_labels if each.domain == domain), ())
    given = plain(labels).get(domain, [])
    if not isinstance(given, list):
        raise ValueError(f"labels.{domain}: a list of groups is expected")
    found = tuple((*defaults, *actions) for actions in _groups(given, domain))
    return found or ((defaults,) if defaults else ())


def _groups(given: list[Any], domain: str) -> Iterator[tuple[LabelAction, ...]]:
    for position, group in enumerate(given):
        where = f"labels.{domain}[{position}]"
        if not isinstance(group, dict) or len(group) != 1:
            raise ValueError(f"{where}: one group with its name is expected, such as {{mygroup: [...]}}")
        ((name, actions),) = group.items()
        if not isinstance(actions, list) or not actions:
            raise ValueError(f"{where}.{name}: a list of at least one label is expected")
        yield tuple(label_action(action, f"{where}.{name}") for action in actions)


def label_action(given: Any, where: str) -> LabelAction:
    """One label. Raises ``ValueError`` that begins with ``where``."""
    try:
        return msgspec.convert(_fields(given), LabelAction)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {error}") from None


def _fields(given: Any) -> dict[str, Any]:
    """The fields of a ``LabelAction``. Raises ``ValueError``."""
    if isinstance(given, str) and given:
        return {"kind": given} if given in _WITHOUT_FIELDS else {"kind": "generic_key", "value": given}
    if not isinstance(given, dict) or len(given) != 1:
        raise ValueError(f"one label is expected, such as {{generic_key: {{value: x}}}}, not {given!r}")
    ((kind, said),) = given.items()
    if kind == "generic_key" and isinstance(said, str):
        said = {"value": said}
    if not isinstance(said, dict):
        raise ValueError(f"{kind}: its fields are expected")
    if kind not in _KINDS:
        return {
            "kind": "request_headers",
            "key": kind,
            "header_name": said.get("header", ""),
        }
    if not isinstance(said.get("omit_if_not_present", False), bool):
        raise ValueError(f"{kind}: omit_if_not_present is true or false")
    if kind in _WITHOUT_FIELDS:
        # `key` has only one value, and Envoy knows it.
        return {"kind": kind}
    needed = "value" if kind == "generic_key" else "header_name"
    if not said.get(needed):
        raise ValueError(f"{kind}: {needed} is missing")
    ignored = ("omit_if_not_present",) if kind == "request_headers" else ()
    return {"kind": kind, **{key: value for key, value in said.items() if key not in ignored}}
