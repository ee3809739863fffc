"""The Module ``ambassador``: the settings of the whole gateway, and the routes of its probes (docs/ambassador.md §4.3).

One takes effect: that of the gateway's own namespace, otherwise the first by name; every other Module of this gateway
reports that it has no effect, those of other gateways report nothing here. ``module_reading.py`` reads the settings,
``http_gateway.py`` makes the routes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from intentc import Claim, Context, Fact, Intent

from .http_gateway import probe_routes
from .module_reading import read_settings
from .plain import plain
from .settings.module_settings import MODULE_NAME, TRAFFIC, ModuleSettings, of_traffic
from .this_gateway import in_order, ours, report_variables

_ELSEWHERE = {
    "tls": "TLS is configured by TLSContexts and by the tls of Hosts",
    "authentication": "create an AuthService instead",
}
"""Modules of older versions → what replaced them."""


_LOG_FOLDERS = "ambassador.envoy_log_folders"
_USUAL_LOG_FOLDERS = ("/dev/fd", "/dev/stdout", "/dev/stderr", "/tmp/ambassador", "/var/log")  # noqa: S108
_SHOWN = 100


class ModuleIntent(Intent):
    kind = "module"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not ours(self, ctx):
            return
        report_variables(self, ctx)
        if self.name != MODULE_NAME:
            instead = _ELSEWHERE.get(self.name, f"only the one called {MODULE_NAME!r} is read")
            ctx.problem("NoEffect", f"the Module {self.name!r} has no effect: {instead}")
            return
        first = next(one for one in in_order(self.kind, ctx) if one.name == MODULE_NAME)
        if first.key != self.key:
            ctx.problem(
                "SecondModule",
                f"the Module {':'.join(first.fq_name)} takes effect, as the gateway's own or the first by name; delete "
                "one of the two",
            )
            return
        settings, findings = read_settings(self._given(ctx))
        settings = self._with_allowed_log(ctx, settings)
        for reason, message in findings:
            ctx.problem(reason, message)
        yield Fact("module_settings", MODULE_NAME, settings)
        yield Fact("module_settings", TRAFFIC, of_traffic(settings))
        yield from probe_routes(self, ctx, settings)

    def _with_allowed_log(self, ctx: Context, settings: ModuleSettings) -> ModuleSettings:
        """The settings with the default log if ``envoy_log_path`` is outside the folders in which Envoy may write."""
        path, folders = settings.envoy_log_path, tuple(map(str, ctx.setting(_LOG_FOLDERS, _USUAL_LOG_FOLDERS) or ()))
        below = any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)
        if below and ".." not in path.split("/"):
            return settings
        message = f"config.envoy_log_path: {path[:_SHOWN]!r} is in none of {', '.join(folders)}; it is left out"
        ctx.problem("ForbiddenLogPath", f"{message}. Choose one of them, or add yours to the setting {_LOG_FOLDERS}")
        return msgspec.structs.replace(settings, envoy_log_path=ModuleSettings().envoy_log_path)

    def _given(self, ctx: Context) -> dict[str, Any]:
        given = plain(self.config) or {}
        if not isinstance(given, dict):
            ctx.problem("InvalidSetting", "config: an object is expected; the defaults are in force")
            return {}
        return given
