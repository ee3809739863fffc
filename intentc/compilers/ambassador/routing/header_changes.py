"""Reads which headers a Mapping, or the Module by default, adds and removes, so that Envoy accepts the result.

Envoy rejects a whole route configuration for one header that must not be changed or one stray ``%``; so such an entry
is left out here, and reported. Rules: docs/ambassador.md §4.2 (defaults of the Module), §4.3; those for a single header
are in ``settings/header_rules.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from intentc import View

from ..plain import plain, texts
from ..settings.header_rules import MOST_ADDITIONS, addition, unremovable
from ..settings.module_settings import MappingDefaults
from ..settings.traffic import HeaderAddition
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
