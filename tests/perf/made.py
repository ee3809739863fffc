"""The resources that are measured with: security groups with the rules of every default group, and their lists.

They have the form in which the API server writes them (permissions and times included), since what is decoded and
kept is that form.
"""

from __future__ import annotations

import uuid
from typing import Any

import msgspec

from intentc.model import MARK_KEY, Mark, Name, object_uuid

PATH = "contrail"
INSTALLATION = "default"
PROJECT = ("default-domain", "default-project")
LISTS = ("ingress-access-control-list", "egress-access-control-list")

_PROJECT_UUID = "7dc32565-236d-5dc0-86f3-59a2c8c03c56"
_SPACE = uuid.UUID("3dfbd820-e4fc-414f-b1d9-d720ebe93cd8")
_PERMISSIONS = {
    "id_perms": {
        "created": "2024-01-01T00:00:00.000000",
        "enable": True,
        "last_modified": "2024-01-01T00:00:00.000000",
        "permissions": {
            "group": "cloud-admin-group",
            "group_access": 7,
            "other_access": 7,
            "owner": "cloud-admin",
            "owner_access": 7,
        },
        "user_visible": True,
        "uuid": {"uuid_lslong": 9453138092924316729, "uuid_mslong": 18376792795722371491},
    },
    "perms2": {"global_access": 0, "owner": "default-project", "owner_access": 7},
}
_ALL_PORTS = {"start_port": 0, "end_port": 65535}


def made_uuid(name: str) -> str:
    """The same for the same name."""
    return str(uuid.uuid5(_SPACE, name))


def value_key(kind: str, uuid: str) -> str:
    """Where a resource lies in etcd."""
    return f"/{PATH}/{kind}/{uuid}"


def resource(kind: str, name: str, parent: tuple[str, str] | None = None, **fields: Any) -> tuple[str, bytes]:
    """(etcd key, JSON) of a resource in the default project. ``parent``: (kind in kebab-case, uuid)."""
    uuid = made_uuid(f"{kind} {name}")
    parent_type, parent_uuid = parent or ("project", _PROJECT_UUID)
    data = {
        "uuid": uuid,
        "fq_name": [*PROJECT, name],
        "name": name,
        "display_name": name,
        "parent_type": parent_type,
        "parent_uuid": parent_uuid,
        **_PERMISSIONS,
        **fields,
    }
    return value_key(kind, uuid), msgspec.json.encode(data, order="sorted")


def project() -> tuple[str, bytes]:
    """(etcd key, JSON) of the project that all else stands in."""
    data = {"uuid": _PROJECT_UUID, "fq_name": PROJECT, "name": PROJECT[-1], "display_name": PROJECT[-1], **_PERMISSIONS}
    return value_key("project", _PROJECT_UUID), msgspec.json.encode(data, order="sorted")


def security_group(place: int, last_port: int = 65535) -> tuple[str, bytes]:
    """(etcd key, JSON) of one group of four rules: IPv4 and IPv6, from the group itself and to everywhere; about 2 KB.
    Another ``last_port`` changes a rule of each direction."""
    name = f"group-{place}"
    own, local = {"security_group": ":".join((*PROJECT, name))}, {"security_group": "local"}
    rules = [
        _rule(place, 1, "IPv4", own, local, last_port),
        _rule(place, 2, "IPv6", own, local, 65535),
        _rule(place, 3, "IPv4", local, {"subnet": {"ip_prefix": "0.0.0.0", "ip_prefix_len": 0}}, last_port),
        _rule(place, 4, "IPv6", local, {"subnet": {"ip_prefix": "::", "ip_prefix_len": 0}}, 65535),
    ]
    entries = {"policy_rule": rules}
    return resource("security_group", name, security_group_id=8000001 + place, security_group_entries=entries)


def _rule(place: int, number: int, ethertype: str, source: Any, destination: Any, last_port: int) -> dict[str, Any]:
    return {
        "rule_uuid": made_uuid(f"rule {place} {number}"),
        "direction": ">",
        "protocol": "any",
        "ethertype": ethertype,
        "src_addresses": [source],
        "src_ports": [_ALL_PORTS],
        "dst_addresses": [destination],
        "dst_ports": [{"start_port": 0, "end_port": last_port}],
    }


def list_items(place: int) -> list[dict[str, Any]]:
    """The two lists of a group as items of a ``/sync``, as the compiler writes them."""
    group = made_uuid(f"security_group group-{place}")
    items = []
    for title in LISTS:
        fq_name = (*PROJECT, f"group-{place}", title)
        rules = [
            {
                "rule_uuid": made_uuid(f"rule {place} {number}"),
                "match_condition": {
                    "protocol": "any",
                    "ethertype": ethertype,
                    "src_address": {"security_group": str(8000001 + place)},
                    "src_port": {"end_port": 65535},
                    "dst_port": {"end_port": 65535},
                },
                "action_list": {"simple_action": "pass"},
            }
            for number, ethertype in ((1, "IPv4"), (2, "IPv6"))
        ]
        data = {
            "uuid": object_uuid(INSTALLATION, Name("access_control_list", fq_name), group),
            "fq_name": fq_name,
            "parent_type": "security-group",
            "parent_uuid": group,
            "annotations": {"key_value_pair": [{"key": MARK_KEY, "value": str(Mark(INSTALLATION, PATH, group))}]},
            "access_control_list_entries": {"acl_rule": rules},
        }
        items.append({"kind": "access_control_list", "operation": "CREATE", "data": data, "if_none_match": True})
    return items


def one_kilobyte(place: int) -> tuple[str, bytes]:
    """(etcd key, JSON) of a resource of 1 KB that nothing follows from: a port in one of 100 networks."""
    network = made_uuid(f"virtual_network net-{place % 100}")
    groups = [made_uuid(f"security_group group-{(place + step) % 1000}") for step in range(2)]
    return resource(
        "virtual_machine_interface",
        f"port-{place}",
        virtual_network_refs=[{"uuid": network, "to": [*PROJECT, f"net-{place % 100}"]}],
        security_group_refs=[{"uuid": uuid, "to": [*PROJECT, f"group-{uuid[:4]}"]} for uuid in groups],
        virtual_machine_interface_mac_addresses={
            "mac_address": [f"02:00:00:00:{place >> 8 & 255:02x}:{place & 255:02x}"]
        },
    )
