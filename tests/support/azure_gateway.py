"""A small application gateway, as Azure would show it: one listener, whose rule leads to one pool.

Documents are new at each call, so that tests may edit them.
"""

from __future__ import annotations

from typing import Any

OWN = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/applicationGateways/gw"
"""The gateway's id."""
PUBLIC_ADDRESS = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/publicIPAddresses/address"
"""The id of its public IP resource."""


def reference(collection: str, name: str) -> dict[str, str]:
    """A reference to a sub-resource."""
    return {"id": f"{OWN}/{collection}/{name}"}


def item(collection: str, name: str, **properties: Any) -> dict[str, Any]:
    """A sub-resource."""
    return {**reference(collection, name), "name": name, "properties": properties}


def listener(name: str, *names: str, port: str = "p80", **properties: Any) -> dict[str, Any]:
    """A listener for HTTP on the public address."""
    given = {
        "frontendIPConfiguration": reference("frontendIPConfigurations", "public"),
        "frontendPort": reference("frontendPorts", port),
        "protocol": "Http",
        "hostNames": list(names),
    }
    return item("httpListeners", name, **{**given, **properties})


def rule(name: str, of: str, priority: int) -> dict[str, Any]:
    """A basic rule from a listener to the pool."""
    return item(
        "requestRoutingRules",
        name,
        httpListener=reference("httpListeners", of),
        priority=priority,
        ruleType="Basic",
        backendAddressPool=reference("backendAddressPools", "pool"),
        backendHttpSettings=reference("backendHttpSettingsCollection", "settings"),
    )


def small_gateway() -> dict[str, Any]:
    """The document."""
    return {
        "id": OWN,
        "name": "gw",
        "location": "westeurope",
        "tags": {"team": "web"},
        "properties": {
            "sku": {"name": "Standard_v2", "tier": "Standard_v2"},
            "frontendIPConfigurations": [
                item("frontendIPConfigurations", "public", publicIPAddress={"id": PUBLIC_ADDRESS})
            ],
            "frontendPorts": [item("frontendPorts", "p80", port=80)],
            "backendAddressPools": [item("backendAddressPools", "pool", backendAddresses=[{"ipAddress": "10.0.0.4"}])],
            "backendHttpSettingsCollection": [
                item("backendHttpSettingsCollection", "settings", port=80, protocol="Http", requestTimeout=30)
            ],
            "httpListeners": [listener("shop", "shop.example")],
            "requestRoutingRules": [rule("shop", "shop", 100)],
        },
    }
