"""Random gateways that others have configured, and what they reserve in them."""

from __future__ import annotations

from random import Random
from typing import Any

from .random_worlds import ID, gateway

Json = dict[str, Any]
HOSTS = (("a.test",), ("b.test",), ("c.b.test", "d.test"), ("*.test",), (), ("b.test", "z.test"))
PATHS = ("/a/*", "/a", "/a/b", "/z*", "/A/b/*", "/deep/er/*")
TARGETS = ("", "/*", "/a", "/a/*", "/a/b", "/z*")


def reference(collection: str, name: str) -> Json:
    return {"id": f"{ID}/{collection}/{name}"}


def entry(collection: str, name: str, **properties: Any) -> Json:
    return {"id": f"{ID}/{collection}/{name}", "name": name, "properties": properties}


def foreign_gateway(random: Random) -> Json:
    """A gateway with listeners, rules and maps of others on port 80 of its public address."""
    document = gateway()
    content = document["properties"]
    content["probes"] = []
    names = [f"team{number}" for number in range(4)]
    content["backendAddressPools"] = [
        entry("backendAddressPools", name, backendAddresses=[{"ipAddress": f"10.9.0.{number}"}])
        for number, name in enumerate(names)
    ]
    content["backendHttpSettingsCollection"] = [
        entry("backendHttpSettingsCollection", name, port=80, protocol="Http") for name in names
    ]
    for collection in ("httpListeners", "urlPathMaps", "requestRoutingRules"):
        content[collection] = []
    taken: set[str] = set()
    for number, hosts in enumerate(random.sample(HOSTS, random.choice([1, 2, 3, 4]))):
        if taken & set(hosts or ("",)):
            continue
        taken |= set(hosts or ("",))
        _rule(
            random, content, names, f"l{number}", hosts, 100 + number if hosts and "*" not in hosts[0] else 900 + number
        )
    return document


def _rule(random: Random, content: Json, names: list[str], name: str, hosts: tuple[str, ...], priority: int) -> None:
    public = reference("frontendIPConfigurations", "public")
    port = reference("frontendPorts", "web")
    members = {"frontendIPConfiguration": public, "frontendPort": port, "protocol": "Http"}
    content["httpListeners"].append(entry("httpListeners", name, **members, hostNames=list(hosts)))
    rule: Json = {"httpListener": reference("httpListeners", name), "priority": priority}
    default = _target(random.choice(names))
    paths = random.sample(PATHS, random.choice([0, 0, 1, 2, 3]))
    if paths:
        rules = [
            entry(f"urlPathMaps/{name}/pathRules", f"p{place}", paths=[path], **_target(random.choice(names)))
            for place, path in enumerate(paths)
        ]
        defaults = {f"default{key[0].upper()}{key[1:]}": value for key, value in default.items()}
        content["urlPathMaps"].append(entry("urlPathMaps", name, **defaults, pathRules=rules))
        rule |= {"ruleType": "PathBasedRouting", "urlPathMap": reference("urlPathMaps", name)}
    else:
        rule |= {"ruleType": "Basic", **default}
    content["requestRoutingRules"].append(entry("requestRoutingRules", name, **rule))


def _target(name: str) -> Json:
    return {
        "backendAddressPool": reference("backendAddressPools", name),
        "backendHttpSettings": reference("backendHttpSettingsCollection", name),
    }


def random_target(random: Random, number: int) -> Json:
    """An AzureIngressProhibitedTarget."""
    hostname = random.choice(["", "a.test", "b.test", "c.b.test"])
    paths = random.sample(TARGETS, random.choice([0, 1, 2]))
    spec = {**({"hostname": hostname} if hostname else {}), **({"paths": paths} if paths else {})}
    metadata = {"name": f"t{number}", "namespace": "shop"}
    kind = {"apiVersion": "appgw.ingress.k8s.io/v1", "kind": "AzureIngressProhibitedTarget"}
    return {**kind, "metadata": metadata, "spec": spec}


def is_reserved(targets: list[Json], host: str, path: str) -> bool:
    """Whether a request is for what a target reserves."""
    path = path.lower()
    for target in targets:
        spec = target["spec"]
        if spec.get("hostname", host).lower() != host:
            continue
        for wanted in spec.get("paths") or ["/*"]:
            tree = wanted[:-1].rstrip("/").lower()
            if wanted in ("", "/", "/*") or wanted.lower() == path:
                return True
            if wanted.endswith("*") and (path == tree or path.startswith(f"{tree}/")):
                return True
    return False
