"""Shows why a test with an Envoy failed: what each stream waits for, and what Envoy has logged.

A wait that ran into its end says only which condition did not come; it may never come again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pprint import pformat
from typing import Any

from intentc.bridges.xds.serving import Server
from intentc.dev.envoy_server import Envoy

_SHOWN = ("dynamic_listeners", "dynamic_active_clusters", "dynamic_route_configs")
_LINES = 60
_LONGEST = 40_000
"""Characters of each text."""


def state(server: Server, envoy: Envoy) -> list[tuple[str, str]]:
    """Titles with texts."""
    cache = server.cache
    streams = [_stream(stream) for stream in cache.streams]
    states = {" ".join(key): _fields(state) for key, state in cache.rejected.items()}
    found = {
        "xDS server": {**server.status(), "records to write": server.records.waiting, "pending": server.pending()},
        "rejected": states,
        "streams": streams,
    }
    return [
        *((title, pformat(value, width=120, compact=True)[:_LONGEST]) for title, value in found.items()),
        ("listeners of Envoy", _asked(envoy, "/listeners")),
        *((f"{name} of Envoy", _asked(envoy, f"/config_dump?resource={name}")[:_LONGEST]) for name in _SHOWN),
        ("end of Envoy's log", envoy.log_tail(_LINES)),
    ]


def _stream(stream: Any) -> dict[str, Any]:
    """The state of a session: ``serial``, its round, and each type's known, sent and blocked resources."""
    own = _fields(stream)
    subscriptions = own.pop("_subscriptions", {})
    return {
        "serial": stream.serial,
        "round": own.get("_round"),
        "patience": stream.patience(),
        "subscriptions": {kind.name: _fields(one) for kind, one in subscriptions.items()},
    }


def _fields(one: Any) -> dict[str, Any]:
    names: Iterable[str] = vars(one) if hasattr(one, "__dict__") else getattr(one, "__slots__", ())
    return {name: getattr(one, name) for name in names}


def _asked(envoy: Envoy, path: str) -> str:
    try:
        return envoy.ask(path)[1]
    except OSError as error:
        return f"no answer: {error}"
