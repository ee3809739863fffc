"""Where a setting comes from: from a field of who asks for the element, or from the Module.

One that would be the same without either is nobody's, and not told.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

from intentc import Context, Source, View

from ..gateway.module_settings import MODULE_NAME, ModuleSettings, module_settings
from . import Reasons

_UNSAID = (None, -1, "/")
"""What fields that nobody set hold, where that is not empty: of numbers, and of a rewrite."""


class Setting(NamedTuple):
    """``part``: where it stands in an element. ``attribute``: what it is called in the typed value. ``field``: of who
    asks. ``key``: of the Module's ``config``, and ``of_module`` of its typed value; both empty if it has none."""

    part: str
    attribute: str
    field: str
    key: str = ""
    of_module: str = ""


def setting_from(ctx: Context, asking: View | None, setting: Setting, value: Any, default: Any) -> Reasons:
    """Why ``setting`` is ``value`` for who asks. ``default``: what it is if nobody says anything."""
    says = asking is not None and _says(asking, setting.field)
    by_module, unsaid = default, default
    if setting.key:
        read = attrgetter(setting.of_module or setting.key)
        by_module, unsaid = read(module_settings(ctx)), read(ModuleSettings())
    module_says = by_module != unsaid
    if says and asking is not None and (value != by_module or module_says):
        yield (Source.of(asking, setting.field),)
    if module_says and value == by_module:
        for contributor, _ in ctx.contributions("module_settings", MODULE_NAME):
            module = ctx.get(contributor.kind, contributor.uuid)
            if module is not None:
                yield (Source.of(module, f"config.{setting.key}"),)


def _says(asking: View, field: str) -> bool:
    value = getattr(asking, field, None)
    if isinstance(value, int) and not isinstance(value, bool):
        return value not in _UNSAID
    return bool(value) and value not in _UNSAID
