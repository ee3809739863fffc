"""What is needed to understand a test with an Envoy that failed: what each stream waits for, and what Envoy says.

A wait that ran into its end says only which condition did not come; it may never come again.
"""

from __future__ import annotations

import json
from typing import Any

from intentc.embedded_envoy import Envoy
from intentc.xds.serving import Server

_LINES = 60
_LONGEST = 40_000
"""Characters of Envoy's configuration that are shown."""


def state(server: Server, envoy: Envoy) -> list[tuple[str, str]]:
    """Titles with texts."""
    world = server.world
    streams = [_stream(stream) for stream in world.streams]
    standings = {" ".join(key): vars(world.standings.get(key)) for key in world.standings.refused()}
    found = {
        "xDS server": {**server.status(), "records to write": server.records.waiting, "pending": server.pending()},
        "refused": standings,
        "streams": streams,
    }
    return [
        *((title, json.dumps(value, indent=1, default=repr)) for title, value in found.items()),
        ("listeners of Envoy", _asked(envoy, "/listeners")),
        ("configuration of Envoy", _asked(envoy, "/config_dump")[:_LONGEST]),
        ("end of Envoy's log", envoy.log_tail(_LINES)),
    ]


def _stream(stream: Any) -> dict[str, Any]:
    """A session as it stands: ``serial``, its round, and of each type what is told, sent and blocked."""
    own = dict(vars(stream))
    subscriptions = own.pop("_subscriptions", {})
    return {
        "serial": stream.serial,
        "round": own.get("_round"),
        "patience": stream.patience(),
        "subscriptions": {kind.name: vars(one) for kind, one in subscriptions.items()},
    }


def _asked(envoy: Envoy, path: str) -> str:
    try:
        return envoy.ask(path)[1]
    except OSError as error:
        return f"no answer: {error}"
