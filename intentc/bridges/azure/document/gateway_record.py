"""Makes the record of a gateway, by which the compiler knows it, from a GET of Azure Resource Manager.

It also reads the settings that publisher and compiler share. ``empty_gateway`` is for commands without Azure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from .parts import named_in

RECORD = "appgw_gateway"
"""The kind of the record."""
_ID = ("applicationGatewayID", "APPGW_RESOURCE_ID")
_NAME = ("name", "APPGW_NAME")
_NOBODY = "00000000-0000-0000-0000-000000000000"


def empty_gateway(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A gateway that has nothing but a public address; its id by the compiler's settings."""
    subscription = given(settings, {}, "subscriptionId", "APPGW_SUBSCRIPTION_ID") or _NOBODY
    group = given(settings, {}, "resourceGroup", "APPGW_RESOURCE_GROUP") or "unknown"
    name = record_name(settings)
    network = f"/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network"
    own = given(settings, {}, *_ID) or f"{network}/applicationGateways/{name}"
    address = {"publicIPAddress": {"id": f"{network}/publicIPAddresses/public"}}
    frontend = {"id": f"{own}/frontendIPConfigurations/public", "name": "public", "properties": address}
    content = {
        "sku": {"name": "Standard_v2", "tier": "Standard_v2"},
        "operationalState": "Running",
        "frontendIPConfigurations": [frontend],
    }
    return {"id": own, "name": name, "properties": content}


def record_name(settings: Mapping[str, Any]) -> str:
    """The name of the record: that of the gateway, by the compiler's settings."""
    return (given(settings, {}, *_ID) or given(settings, {}, *_NAME)).rpartition("/")[2] or "gateway"


def given(settings: Mapping[str, Any], environment: Mapping[str, str], *names: str) -> str:
    """The first of several settings (without ``appgw.``), else of the environment's variables of these names."""
    found = (settings.get(f"appgw.{name}") for name in names)
    return str(
        next((one for one in found if one), "") or next((environment[n] for n in names if environment.get(n)), "")
    )


def prefix_in(settings: Mapping[str, Any]) -> str:
    """The prefix of our names, by the compiler's settings."""
    return given(settings, {}, "subResourceNamePrefix", "APPGW_CONFIG_NAME_PREFIX")


def limits_in(settings: Mapping[str, Any]) -> dict[str, int]:
    """The limits that the compiler's settings give in place of Azure's."""
    given = settings.get("appgw.limits") or {}
    return {str(name): int(number) for name, number in given.items()} if isinstance(given, Mapping) else {}


def record_of(gateway: Mapping[str, Any], name: str, *, prefix: str = "", made: Collection[str] = ()) -> dict[str, Any]:
    """The record of ``gateway``. ``made``: ids of sub-resources that we made; ``prefix``: of our names."""
    content = gateway.get("properties") or {}
    frontends = [
        {"id": one["id"], "private": not (one.get("properties") or {}).get("publicIPAddress")}
        for one in content.get("frontendIPConfigurations") or ()
    ]
    ports = {one["name"]: int(one["properties"]["port"]) for one in content.get("frontendPorts") or ()}
    private = {str(one["id"]).lower() for one in frontends if one["private"]}
    ours = {one.lower() for one in made}
    certificates = (f"{prefix}cert-",)
    return {
        "fq_name": [name],
        "id": gateway.get("id") or "",
        "sku_tier": (content.get("sku") or {}).get("tier") or "",
        "operational_state": content.get("operationalState") or "",
        "frontends": frontends,
        "ports": [{"name": port, "port": number} for port, number in sorted(ports.items())],
        "ssl_certificate_names": _names(content, "sslCertificates", without=certificates),
        "ssl_profile_names": _names(content, "sslProfiles"),
        "trusted_root_names": _names(content, "trustedRootCertificates"),
        "rewrite_set_names": _names(content, "rewriteRuleSets", without=("crd-",)),
        "foreign_listeners": [
            _listener(one, private, ports)
            for one in content.get("httpListeners") or ()
            if str(one.get("id")).lower() not in ours
        ],
    }


def _listener(one: Mapping[str, Any], private: Collection[str], ports: Mapping[str, int]) -> dict[str, Any]:
    content = one["properties"]
    hosts = content.get("hostNames") or ([content["hostName"]] if content.get("hostName") else [])
    return {
        "name": one["name"],
        "private": str((content.get("frontendIPConfiguration") or {}).get("id")).lower() in private,
        "port": ports.get(named_in(content.get("frontendPort")), 0),
        "hosts": sorted(host.lower() for host in hosts),
    }


def _names(content: Mapping[str, Any], collection: str, *, without: tuple[str, ...] = ()) -> list[str]:
    return sorted(
        one["name"] for one in content.get(collection) or () if not (without and one["name"].startswith(without))
    )
