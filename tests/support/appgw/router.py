"""Answers requests as an Application Gateway does: an interpreter of its document (docs/appgw.md §6.7, §8.2).

Of the listeners that match a request, the one whose rule has the lowest priority counts. Its path rules are tried in
their order, without case; otherwise the default answers.
"""

from __future__ import annotations

import fnmatch
from typing import Any, NamedTuple

Json = dict[str, Any]


class Request(NamedTuple):
    """``frontend``: Public or Private."""

    frontend: str
    port: int
    protocol: str
    host: str
    path: str


class Answer(NamedTuple):
    """``settings``, ``pool``: names of what serves it; ``redirect``: the name of the listener to which it is sent."""

    settings: str = ""
    pool: str = ""
    redirect: str = ""


def name(reference: Any) -> str:
    return str(reference["id"]).rpartition("/")[2] if reference else ""


class Router:
    def __init__(self, document: Json) -> None:
        content = document["properties"]
        self._all = {
            collection: {one["name"]: one["properties"] for one in content.get(collection, [])}
            for collection in (
                "frontendPorts", "httpListeners", "urlPathMaps", "redirectConfigurations", "requestRoutingRules",
                "backendAddressPools", "backendHttpSettingsCollection", "probes",
            )
        }  # fmt: skip
        self._public = {
            one["id"].lower(): bool(one["properties"].get("publicIPAddress"))
            for one in content["frontendIPConfigurations"]
        }
        self._rules = sorted(self._all["requestRoutingRules"].values(), key=lambda rule: int(rule["priority"]))

    def answer(self, request: Request) -> Answer | None:
        """None: no listener takes the request."""
        for rule in self._rules:
            listener = self._all["httpListeners"][name(rule["httpListener"])]
            if self._takes(listener, request):
                if "urlPathMap" not in rule:
                    return self._target(rule)
                path_map = self._all["urlPathMaps"][name(rule["urlPathMap"])]
                for entry in path_map["pathRules"]:
                    if any(matches(pattern, request.path) for pattern in entry["properties"]["paths"]):
                        return self._target(entry["properties"])
                defaults = {key.removeprefix("default"): value for key, value in path_map.items() if key != "pathRules"}
                return self._target({key[0].lower() + key[1:]: value for key, value in defaults.items()})
        return None

    def _takes(self, listener: Json, request: Request) -> bool:
        public = self._public[listener["frontendIPConfiguration"]["id"].lower()]
        port = self._all["frontendPorts"][name(listener["frontendPort"])]["port"]
        if (public, port, listener["protocol"]) != (request.frontend == "Public", request.port, request.protocol):
            return False
        hosts = listener.get("hostNames") or ([listener["hostName"]] if listener.get("hostName") else [])
        return not hosts or any(fnmatch.fnmatchcase(request.host, host.lower()) for host in hosts)

    def _target(self, content: Json) -> Answer:
        if redirect := name(content.get("redirectConfiguration")):
            return Answer(redirect=name(self._all["redirectConfigurations"][redirect]["targetListener"]))
        settings, pool = name(content["backendHttpSettings"]), name(content["backendAddressPool"])
        assert settings in self._all["backendHttpSettingsCollection"]
        assert pool in self._all["backendAddressPools"]
        return Answer(settings, pool)


def matches(pattern: str, path: str) -> bool:
    pattern, path = pattern.lower(), path.lower()
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def dangling(document: Json) -> list[str]:
    """Ids in the document that lead to nothing in it, among the collections that it has."""
    content = document["properties"]
    there = {one["id"].lower() for value in content.values() if isinstance(value, list) for one in value}
    prefix = f"{document['id']}/".lower()
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if set(value) == {"id"} and value["id"].lower().startswith(prefix) and value["id"].lower() not in there:
                found.append(value["id"])
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(content)
    return found
