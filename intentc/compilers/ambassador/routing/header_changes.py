"""Which headers a Mapping adds and removes, checked so that Envoy takes them.

Envoy refuses a whole route configuration for one header that must not be touched or one stray ``%``; so such an entry
is left out here, and told on the Mapping. Rules: docs/ambassador.md §4.2 (defaults of the Module), §4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from intentc import View

from ..gateway.module_settings import MappingDefaults
from ..gateway.traffic import HeaderAddition
from ..plain import plain, texts
from .header_rules import MOST_ADDITIONS, addition, unremovable
from .route_action import HeaderChanges

Tell = Callable[[str, str], None]
"""``ctx.problem``, or what tells it elsewhere: (reason, message)."""


def header_changes(mapping: View, defaults: MappingDefaults, tell: Tell) -> HeaderChanges:
    """What ``mapping`` says; of each of the four that it does not say, what the Module says. One that is empty says
    that there is none."""
    return HeaderChanges(
        add_request=_added(mapping, "add_request_headers", defaults.add_request_headers, tell),
        add_response=_added(mapping, "add_response_headers", defaults.add_response_headers, tell),
        remove_request=_removed(mapping, "remove_request_headers", defaults.remove_request_headers, tell),
        remove_response=_removed(mapping, "remove_response_headers", defaults.remove_response_headers, tell),
    )


def _added(mapping: View, field: str, default: tuple[HeaderAddition, ...], tell: Tell) -> tuple[HeaderAddition, ...]:
    given = mapping.field(field)
    return default if given is None else tuple(additions(plain(given), field, tell))


def additions(given: dict[str, Any], field: str, tell: Tell) -> Iterator[HeaderAddition]:
    """Of ``{name: value}`` or ``{name: {value, append}}``, what can be added; ``field`` is where it stands."""
    taken = 0
    for name, value in sorted(given.items()):
        try:
            found = addition(name, value)
        except ValueError as error:
            tell("InvalidHeader", f"{field}[{name!r}]: {error}; it is left out")
            continue
        if taken < MOST_ADDITIONS:
            taken += 1
            yield found
        else:
            tell("InvalidHeader", f"{field}[{name!r}]: there are more than {MOST_ADDITIONS}; it is left out")


def _removed(mapping: View, field: str, default: tuple[str, ...], tell: Tell) -> tuple[str, ...]:
    given = mapping.field(field)
    if given is None:
        return default
    try:
        names = texts(given)
    except ValueError as error:
        tell("InvalidHeader", f"{field}: {error}; it is left out")
        return default
    return tuple(name for name in dict.fromkeys(names) if removable(name, field, tell))


def removable(name: str, field: str, tell: Tell) -> bool:
    """Whether ``name`` is that of a header that may be removed; tells it if not."""
    wrong = unremovable(name)
    if wrong:
        tell("InvalidHeader", f"{field}: {name!r}: {wrong}; it is left out")
    return not wrong
