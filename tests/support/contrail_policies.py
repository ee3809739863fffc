"""What tests of network policies write: rules of policies, and networks that attach them."""

from __future__ import annotations

from typing import Any

from tests.support.contrail_system import ContrailSystem, fq_name
from tests.support.memory_system import Document

EVERY_PORT = [{"start_port": -1, "end_port": -1}]


def policy(*rules: Document) -> Document:
    """The rules as the field of a policy."""
    return {"policy_rule": list(rules)}


def rule(source: str, destination: str, action: str = "pass", **fields: Any) -> Document:
    """A rule between two addresses: ``any``, ``local``, a subnet, ``policy NAME`` or a network's name in ``blue``."""
    return {
        "direction": "<>",
        "protocol": "any",
        "src_addresses": [_address(source)],
        "dst_addresses": [_address(destination)],
        "src_ports": EVERY_PORT,
        "dst_ports": EVERY_PORT,
        "action_list": {"simple_action": action},
        **fields,
    }


def attached(*policies: str) -> list[Document]:
    """References to policies of ``blue``, in this order."""
    return [
        {"to": fq_name(f"blue:{name}"), "attr": {"sequence": {"major": 1, "minor": place}}}
        for place, name in enumerate(policies, 1)
    ]


async def networks_sharing(system: ContrailSystem, count: int, *rules: dict[str, Any]) -> None:
    """``count`` networks that attach the policy ``hub``."""
    await system.create("network_policy", "blue:hub", network_policy_entries=policy(*rules))
    await system.transact(
        *(
            ("CREATE", "virtual_network", f"blue:vn{number:03}", {"network_policy_refs": attached("hub")})
            for number in range(count)
        )
    )


async def links(system: ContrailSystem) -> dict[str, list[str]]:
    """The linked networks of ``blue``: name → those that its primary routing instance refers to."""
    found = {}
    for name, document in (await system.stored("routing_instance")).items():
        entries = document.get("routing_instance_refs") or ()
        if entries:
            found[name.rpartition(":")[2]] = sorted(entry["to"][-1] for entry in entries)
    return found


async def pairs(system: ContrailSystem, network: str, name: str = "") -> list[str] | None:
    """The rules of a network's list as ``source > destination action``; None if there is no such list."""
    lists = await system.stored("access_control_list")
    document = lists.get(f"default-domain:blue:{network}:{name or network}")
    if document is None:
        return None
    rules = (document.get("access_control_list_entries") or {}).get("acl_rule") or []
    return [
        f"{_shown(r['match_condition']['src_address'])} > {_shown(r['match_condition']['dst_address'])} "
        f"{r['action_list']['simple_action']}"
        for r in rules
    ]


def _shown(address: Document) -> str:
    name = str(address.get("virtual_network", "")).rpartition(":")[2]
    subnets = [address["subnet"]] if address.get("subnet") else []
    shown = [f"{one['ip_prefix']}/{one.get('ip_prefix_len', 0)}" for one in [*subnets, *address.get("subnet_list", [])]]
    return " ".join(part for part in [name, *shown] if part)


def _address(text: str) -> Document:
    if text.startswith("policy "):
        return {"network_policy": f"default-domain:blue:{text.removeprefix('policy ')}"}
    if "/" in text:
        prefix, _, length = text.partition("/")
        return {"subnet": {"ip_prefix": prefix, "ip_prefix_len": int(length)}}
    return {"virtual_network": text if text in ("any", "local") else f"default-domain:blue:{text}"}
