"""Finds where a setting comes from: a field of the resource that asks for the element, or the Module.

A setting that would be the same without both has no reason.

It reads through ``ctx`` alone.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

from intentc import Context, Source, View

from ..elements import Reasons
from ..settings.module_settings import MODULE_NAME, ModuleSettings, module_settings

_UNSAID = (None, -1, "/")
"""Values of unset fields that are not empty: of numbers, and of a rewrite."""


class Setting(NamedTuple):
    """``part``: its place in an element. ``attribute``: its name in the typed value. ``field``: its field in the
    resource. ``key``: its key in the Module's ``config``, and ``of_module`` in the Module's typed value; both empty if
    it has none."""

    part: str
    attribute: str
    field: str
    key: str = ""
    of_module: str = ""


def setting_from(ctx: Context, asking: View | None, setting: Setting, value: Any, default: Any) -> Reasons:
    """Why ``setting`` has ``value`` for ``asking``. ``default``: the value if no resource sets it."""
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
