"""The filter that replaces a guard whose service is misconfigured: it answers 500 to everything but the probes
(docs/ambassador.md §4.5).

To let requests pass unchecked would be worse than not to serve them. Probes that Envoy answers itself never reach this
filter; probes that a service answers pass.

Pure functions of values.
"""

from __future__ import annotations

import re
from typing import Any

from ..gateway.gateway import Misconfigured
from ..gateway.probes import asked_elsewhere
from ..settings.module_settings import ModuleSettings

_KINDS = {"auth_service": "AuthService", "rate_limit_service": "RateLimitService"}
_SCRIPT = """\
local open = {{{open}}}
function envoy_on_request(handle)
  local path = handle:headers():get(":path") or ""
  if open[path:match("^[^?]*")] then return end
  local id = (handle:headers():get("x-request-id") or ""):gsub("[^%w._~:/+=-]", "")
  handle:respond(
    {{[":status"] = "500", ["content-type"] = "application/json"}},
    '{{"message": "the gateway\\'s {kind} is misconfigured; its problems say what to do", ' ..
    '"request_id": "' .. id .. '", "status_code": 500}}\\n')
end
"""


def reject_all(missing: Misconfigured, settings: ModuleSettings) -> dict[str, Any]:
    """The filter ``{name, typed_config}``. Its answer does not reveal the service to clients."""
    opened = ", ".join(
        f"[{_lua_text(probe.prefix)}] = true"
        for name, probe in asked_elsewhere(settings).items()
        if name != "diagnostics"
    )
    kind = _KINDS[missing.kind]
    return {
        "name": f"misconfigured_{missing.kind}",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
            "default_source_code": {"inline_string": _SCRIPT.format(open=opened, kind=kind)},
        },
    }


def _lua_text(text: str) -> str:
    """A Lua literal that escapes everything but letters and the characters of plain paths."""
    return '"' + re.sub(rb"[^A-Za-z0-9/_.-]", lambda one: b"\\%03d" % one[0][0], text.encode()).decode() + '"'
