"""The naive oracle's part for machines that use SR-IOV: port groups and fabric ports (docs/contrail.md D.16)."""

from __future__ import annotations

from tests.oracle.contrail_world import Expected, Json, World, mark, resources, targets

PORT, GROUP = "virtual_machine_interface", "virtual_port_group"


def expected(world: World) -> Expected:
    """(kind, fq_name) → of fabric ports ``tag`` and ``virtual_network_refs``; of port groups ``usage``,
    ``user_created`` and the names of their ``physical_interface_refs`` and ``virtual_machine_interface_refs``."""
    found: Expected = {}
    for machine in resources(world, PORT):
        project = of_uuid(world, "project", machine.get("parent_uuid"))
        for network in targets(world, machine, "virtual_network")[:1]:
            provided = network.get("provider_properties") or {}
            interface, fabric = switch_port(world, machine, provided.get("physical_network"))
            if project is None or interface is None or fabric is None or not provided.get("segmentation_id"):
                continue
            port = (*project["fq_name"], f"__internal_sriov_vmi_to_vn_{network['uuid']}__")
            found[PORT, port] = {"tag": provided["segmentation_id"], "virtual_network_refs": [name_of(network)]}
            group = (*fabric["fq_name"], f"__internal_sriov_vgp_to_pi_{interface['uuid']}__")
            fields = found.setdefault((GROUP, group), {"usage": "sriov-vm", "user_created": False})
            fields["physical_interface_refs"] = [name_of(interface)]
            members = {*fields.get("virtual_machine_interface_refs", []), ":".join(port)}
            fields["virtual_machine_interface_refs"] = sorted(members)
    return found


def actual(world: World) -> Expected:
    """What is there, in the same form."""
    found: Expected = {}
    for port in resources(world, PORT):
        if mark(port) is not None and "__internal_sriov_" in port["fq_name"][-1]:
            tag = (port.get("virtual_machine_interface_properties") or {}).get("sub_interface_vlan_tag")
            networks = [name_of(network) for network in targets(world, port, "virtual_network")]
            found[PORT, tuple(port["fq_name"])] = {"tag": tag, "virtual_network_refs": networks}
    for group in resources(world, GROUP):
        if mark(group) is not None:
            pairs = group["annotations"]["key_value_pair"]
            found[GROUP, tuple(group["fq_name"])] = {
                "usage": next((pair["value"] for pair in pairs if pair["key"] == "usage"), ""),
                "user_created": group.get("virtual_port_group_user_created", True),
                "physical_interface_refs": [name_of(one) for one in targets(world, group, "physical_interface")],
                "virtual_machine_interface_refs": [name_of(one) for one in targets(world, group, PORT)],
            }
    return found


def switch_port(world: World, machine: Json, physical_network: str | None) -> tuple[Json | None, Json | None]:
    """The physical interface behind which the machine's host is, and that one's fabric."""
    bindings = pairs_of(machine.get("virtual_machine_interface_bindings"))
    host = bindings.get("host_id")
    if bindings.get("vnic_type") != "direct" or host in (None, "", "null") or not physical_network:
        return None, None
    for router in by_name(world, "virtual_router"):
        port = pairs_of(router.get("virtual_router_sriov_physical_networks")).get(physical_network)
        if shown(router) == host and port:
            return behind(world, host, port)
    return None, None


def behind(world: World, host: str, port: str) -> tuple[Json | None, Json | None]:
    for one in by_name(world, "port"):
        node = of_uuid(world, "node", one.get("parent_uuid"))
        link = (one.get("bms_port_info") or {}).get("local_link_connection") or {}
        switch, place = link.get("switch_info"), link.get("port_id")
        if node is None or node.get("hostname") != host or shown(one) != port or not switch or not place:
            continue
        for interface in by_name(world, "physical_interface"):
            router = of_uuid(world, "physical_router", interface.get("parent_uuid"))
            if router is not None and router.get("physical_router_hostname") == switch:
                fabrics = targets(world, router, "fabric")
                if fabrics and shown(interface).replace(":", "_") == place:
                    return interface, fabrics[0]
        return None, None
    return None, None


def by_name(world: World, kind: str) -> list[Json]:
    return sorted(resources(world, kind), key=lambda one: one["fq_name"])


def of_uuid(world: World, kind: str, uuid: str | None) -> Json | None:
    return next((one for one in resources(world, kind) if one["uuid"] == uuid), None)


def pairs_of(value: Json | None) -> dict[str, str]:
    return {pair["key"]: pair["value"] for pair in (value or {}).get("key_value_pair") or []}


def shown(resource: Json) -> str:
    return str(resource.get("display_name") or resource["fq_name"][-1])


def name_of(resource: Json) -> str:
    return ":".join(resource["fq_name"])
