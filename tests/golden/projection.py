"""What of a compile's output the golden pairs hold: all that follows from the input, nothing provisional.

uuids, the server's stamps and where a file lies are left out, and what means nothing (null, zero, empty;
docs/contrail.md A.1), so that a pair can be written and checked by hand.
"""

from __future__ import annotations

from typing import Any

from tests.oracle.contrail import normal

_GENERATED = frozenset(
    {
        "annotations",
        "configuration_version",
        "display_name",
        "href",
        "id_perms",
        "instance_ip_subnet",
        "name",
        "parent_href",
        "parent_type",
        "parent_uuid",
        "perms2",
        "subnet_uuid",
        "uuid",
        "virtual_machine_interface_mac_addresses",
    }
)


def projected(document: dict[str, Any]) -> dict[str, Any]:
    """``{apiVersion, resources, problems}`` as ``intentc compile`` prints it (docs/engine.md §12), so reduced."""
    return {
        "apiVersion": document["apiVersion"],
        "resources": [_resource(resource) for resource in document["resources"]],
        **({"statuses": document["statuses"]} if document.get("statuses") else {}),
        "problems": [
            {key: problem[key] for key in ("kind", "name", "reason", "message")} for problem in document["problems"]
        ],
    }


def _resource(resource: dict[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in resource.items() if key not in _GENERATED}
    for key, value in found.items():
        if key.endswith("_refs"):
            entries = [{k: v for k, v in entry.items() if k not in ("uuid", "href")} for entry in value]
            # What the server lets an interface refer to.
            theirs = [e for e in entries if key == "routing_instance_refs" and e.get("attr") == {"direction": "both"}]
            found[key] = sorted((e for e in entries if e not in theirs), key=lambda entry: list(entry["to"]))
    if resource["kind"].startswith("envoy_"):
        # In Envoy's configuration an empty object or a zero may well mean something.
        return found
    reduced: dict[str, Any] = normal(found)
    if (resource.get("id_perms") or {}).get("user_visible") is False:
        reduced["id_perms"] = {"user_visible": False}
    return reduced
