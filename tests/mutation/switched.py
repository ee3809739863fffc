"""The part of the world of ``corpus.py`` that is about machines with SR-IOV: a host behind a port of a switch."""

from __future__ import annotations

from typing import Any

from tests.property.resources import PROJECTS, Put

SYSTEM = ("default-global-system-config",)
_HOST, _DEVICE, _NETWORK = (*SYSTEM, "host"), (*SYSTEM, "device"), (*PROJECTS[0], "provided")
HOSTNAME: dict[str, Any] = {"physical_router_hostname": "leaf"}
"""Of the device of that name."""


def _pairs(**pairs: str) -> dict[str, Any]:
    return {"key_value_pair": [{"key": key, "value": value} for key, value in pairs.items()]}


SWITCHED = (
    Put("physical_interface", (*_DEVICE, "xe-0:1"), {}),
    Put("node", _HOST, {"hostname": "host"}),
    Put(
        "port",
        (*_HOST, "ens1"),
        {"bms_port_info": {"local_link_connection": {"switch_info": "leaf", "port_id": "xe-0_1"}}},
    ),
    Put("virtual_router", _HOST, {"virtual_router_sriov_physical_networks": _pairs(physnet="ens1")}),
    Put("virtual_network", _NETWORK, {"provider_properties": {"segmentation_id": 7, "physical_network": "physnet"}}),
    Put(
        "virtual_machine_interface",
        (*PROJECTS[0], "direct"),
        {
            "parent_type": "project",
            "virtual_network_refs": [{"to": list(_NETWORK)}],
            "virtual_machine_interface_bindings": _pairs(vnic_type="direct", host_id="host"),
        },
    ),
)
