"""Asking Envoy itself whether it takes a configuration: ``envoy --mode validate``, a tenth of a second each, and hardly
more for many at once.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from intentc.bridges.xds.bootstrap import static_bootstrap
from intentc.dev.envoy_server import find_binary
from tests.support.ambassador.mappings import Routes
from tests.support.waiting import PATIENCE

_ADMIN = {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}}
_COMPLAINTS = ("[warning]", "[error]", "[critical]")


def complaints(bootstrap: Mapping[str, Any], folder: Path) -> str:
    """What Envoy has against a complete static configuration, warnings (deprecated fields) included; empty if nothing.

    ``folder``: where it may be written.
    """
    path = folder / "bootstrap.json"
    path.write_bytes(msgspec.json.encode({"admin": _ADMIN, **bootstrap}))
    done = subprocess.run(
        [find_binary(), "--mode", "validate", "--config-path", path, "--disable-hot-restart", "--log-level", "warning"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    lines = [line for line in done.stderr.splitlines() if any(level in line for level in _COMPLAINTS)]
    return "\n".join(lines) or ("" if done.returncode == 0 else done.stderr or f"exit code {done.returncode}")


def complaints_of_each(bootstraps: Mapping[str, Mapping[str, Any]], folder: Path) -> dict[str, str]:
    """Name → ``complaints``, of configurations that Envoy is expected to take: as many as can stand in one are shown to
    it together, and each alone where it has something against them. ``folder``: where files may be written."""
    found = dict.fromkeys(bootstraps, "")
    for together in _joined(bootstraps):
        if complaints(together.joined, folder):
            alone = {name: complaints(bootstraps[name], folder) for name in together.names}
            assert any(alone.values()), f"Envoy takes each of {together.names}, but not all of them together"
            found |= alone
    return found


class _Together:
    """Configurations that stand in one: none of them may find in it what it lacks by itself, so that each is taken or
    rejected as it would be alone. Listeners get names and ports of their own, which no rule of Envoy's looks at."""

    def __init__(self, bootstrap: Mapping[str, Any]) -> None:
        self.names: list[str] = []
        self.joined = {**bootstrap, "static_resources": {"listeners": [], "clusters": [], "secrets": []}}
        self._texts: list[tuple[set[str], str]] = []
        self._parts: dict[str, Any] = {}

    def may_join(self, bootstrap: Mapping[str, Any]) -> bool:
        """Whether what both call alike is alike, and neither names a part that only the other has."""
        keys = self.joined.keys() | bootstrap.keys()
        if any(self.joined.get(key) != bootstrap.get(key) for key in keys - {"static_resources"}):
            return False
        parts, text = _parts(bootstrap), _text(bootstrap)
        return (
            all(self._parts.get(name, part) == part for name, part in parts.items())
            and not any(_quoted(name) in text for name in self._parts.keys() - parts.keys())
            and not any(_quoted(name) in other for names, other in self._texts for name in parts.keys() - names)
        )

    def join(self, name: str, bootstrap: Mapping[str, Any]) -> None:
        into, static = self.joined["static_resources"], bootstrap["static_resources"]
        assert static.keys() <= into.keys()
        for kind in ("clusters", "secrets"):
            into[kind] += [one for one in static.get(kind, ()) if one["name"] not in self._parts]
        for listener in static.get("listeners", ()):
            address = listener["address"]["socket_address"] | {"port_value": len(into["listeners"]) + 1}
            own = {"name": f"{name} {listener['name']}", "address": {"socket_address": address}}
            into["listeners"].append({**listener, **own})
        self.names.append(name)
        self._texts.append((set(_parts(bootstrap)), _text(bootstrap)))
        self._parts |= _parts(bootstrap)


def _joined(bootstraps: Mapping[str, Mapping[str, Any]]) -> list[_Together]:
    found: list[_Together] = []
    for name, bootstrap in bootstraps.items():
        together = next((one for one in found if one.may_join(bootstrap)), None)
        if together is None:
            together = _Together(bootstrap)
            found.append(together)
        together.join(name, bootstrap)
    return found


def _parts(bootstrap: Mapping[str, Any]) -> dict[str, Any]:
    """What is referred to by name."""
    static = bootstrap["static_resources"]
    return {one["name"]: one for kind in ("clusters", "secrets") for one in static.get(kind, ())}


def _quoted(name: str) -> str:
    return msgspec.json.encode(name).decode()


def _text(bootstrap: Mapping[str, Any]) -> str:
    return msgspec.json.encode(bootstrap).decode()


def bootstrap_of(found: Routes, configs: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """All routes (or these ``configs``) in one virtual host, as they would be served, with stand-ins for clusters."""
    used = {name for element in found.elements for name in element.get("clusters", ())}
    prefix = "type.googleapis.com/envoy.extensions.filters"
    manager = {
        "@type": f"{prefix}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "test",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": configs or found.configs}]},
        "http_filters": [
            {"name": "envoy.filters.http.cors", "typed_config": {"@type": f"{prefix}.http.cors.v3.Cors"}},
            {"name": "envoy.filters.http.router", "typed_config": {"@type": f"{prefix}.http.router.v3.Router"}},
        ],
    }
    listener = {
        "name": "test",
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [
            {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
        ],
    }
    clusters = [{"name": name, "type": "STATIC"} for name in sorted(used)]
    ours = static_bootstrap([])
    return {**ours, "static_resources": {"listeners": [listener], "clusters": clusters}}
