"""An offline compile by the simplest means: the intents run again and again over a naive world until nothing changes.

It stands in for the engine where only the intents are in question. What the API server fills in is simulated here as
docs/contrail.md B.5 says (a network's primary routing instance, numbers of groups), numbers are given lowest first in
the order of their owners' names, those of the seeds first (docs/engine.md §12).
"""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Mapping
from typing import Any

from intentc.compilers.contrail import compiler
from intentc.evaluation import Outcome, Runner
from intentc.loading.schemas import load_schema
from intentc.model import (
    MARK_KEY,
    Claim,
    Key,
    Name,
    PropertyClaim,
    ReferenceClaim,
    RelationClaim,
    ResourceClaim,
    object_uuid,
)
from intentc.model.values import thaw
from tests.support.naive_world import NaiveWorld, provisional_uuid

INSTALLATION = "golden"
FIRST_NUMBERS = {"route_target_number": 8000100, "bgpaas_port": 50000, "service_chain_vlan:": 1}
LAST_ADDRESSES = {"v4": "0.255.255.252", "v6": "::0.255.255.252"}
"""The first addresses that the IPAM of service chains gives, from above."""
FIRST_GROUP = 8000001

_PROJECT = ["default-domain", "default-project"]
SEEDS: list[tuple[str, dict[str, Any]]] = [
    ("global_system_config", {"fq_name": ["default-global-system-config"], "autonomous_system": 64512}),
    ("domain", {"fq_name": ["default-domain"]}),
    ("project", {"fq_name": _PROJECT}),
    ("security_group", {"fq_name": [*_PROJECT, "__no_rule__"]}),
    ("virtual_network", {"fq_name": [*_PROJECT, "ip-fabric"], "is_provider_network": True}),
    ("virtual_network", {"fq_name": [*_PROJECT, "__link_local__"]}),
    ("virtual_network", {"fq_name": [*_PROJECT, "default-virtual-network"]}),
    ("network_ipam", {"fq_name": [*_PROJECT, "service-chain-flat-ipam"]}),
]
"""The seeds of docs/contrail.md A.5 that intents look at."""


class NaiveCompile:
    """One compile of ``resources`` ((kind, data) as a user applies them) together with the seeds."""

    def __init__(self, resources: list[tuple[str, dict[str, Any]]], settings: Mapping[str, Any] | None = None) -> None:
        self.world = NaiveWorld(load_schema("contrail"), settings=settings)
        self.stored: dict[Key, dict[str, Any]] = {}
        self.outcomes: list[Outcome] = []
        self.numbers: dict[str, int] = {}
        """Owner → number."""
        self._admit(SEEDS)
        self._run()
        self._admit(resources)
        self._run()

    def claims(self) -> list[Claim]:
        return [claim for outcome in self.outcomes for claim in outcome.claims]

    def objects(self) -> dict[Name, dict[str, Any]]:
        """What compilers make, and whole objects on which they write a field, as plain JSON."""
        found: dict[Name, dict[str, Any]] = {}
        for claim in self.claims():
            if isinstance(claim, ResourceClaim):
                made = {"kind": claim.name.kind, "fq_name": list(claim.name.fq_name)}
                parent = {"parent_uuid": claim.parent.key.uuid} if claim.parent else {}
                given = self._given(claim.name)
                found[claim.name] = {
                    **made,
                    **parent,
                    **{field: thaw(value) for field, value in claim.properties},
                    **given,
                }
        for claim in self.claims():
            if isinstance(claim, ResourceClaim):
                continue
            holder = found.get(claim.holder) or self._stored_object(claim.holder)
            if holder is None:
                # Nobody made it yet; planning waits.
                continue
            found[claim.holder] = holder
            match claim:
                case ReferenceClaim():
                    self._refer(holder, claim)
                case PropertyClaim():
                    _set(holder, claim.field.split("."), thaw(claim.value))
                case RelationClaim():
                    unwanted = [list(target.fq_name) for target in claim.unwanted]
                    entries = holder.get(f"{claim.relation}_refs") or []
                    holder[f"{claim.relation}_refs"] = [entry for entry in entries if entry["to"] not in unwanted]
        return found

    def document(self) -> dict[str, Any]:
        """As ``intentc compile`` prints it, without what follows from the seeds alone."""
        seeded = _seeded(tuple(sorted(self.world.settings.items()))) if len(self.stored) > _SEEDED else {}
        objects = {name: found for name, found in self.objects().items() if seeded.get(name) != found}
        problems = sorted({problem for outcome in self.outcomes for problem in outcome.problems})
        return {
            "apiVersion": "intentc/v1",
            "resources": [objects[name] for name in sorted(objects)],
            "problems": [
                {"kind": p.kind, "name": p.name, "reason": p.reason, "message": p.message, "source": p.source}
                for p in problems
            ],
        }

    def _admit(self, resources: list[tuple[str, dict[str, Any]]]) -> None:
        for kind, given in sorted(resources, key=lambda item: (item[0], item[1]["fq_name"])):
            data = {"uuid": provisional_uuid(kind, given["fq_name"]), **given}
            parents = self.world.schema.kind(kind).parents
            if parents and len(given["fq_name"]) > 1:
                data.setdefault("parent_type", parents[0].kind.replace("_", "-"))
                parent = provisional_uuid(data["parent_type"].replace("-", "_"), given["fq_name"][:-1])
                data.setdefault("parent_uuid", parent)
            if kind == "security_group":
                # The seeds' group brings its number along.
                groups = sum(key.kind == "security_group" for key in self.stored) - 1
                data["security_group_id"] = given.get("configured_security_group_id") or FIRST_GROUP + groups
            self._store(kind, data)
            if kind == "virtual_network":
                name = [*given["fq_name"], given["fq_name"][-1]]
                instance = {
                    "uuid": provisional_uuid("routing_instance", name),
                    "fq_name": name,
                    "parent_type": "virtual-network",
                    "parent_uuid": data["uuid"],
                    "routing_instance_is_default": True,
                }
                if given.get("fabric_snat"):
                    instance["routing_instance_fabric_snat"] = True
                self._store("routing_instance", instance)

    def _store(self, kind: str, data: dict[str, Any]) -> None:
        self.stored[self.world.store(kind, data)] = data

    def _run(self) -> None:
        runner = Runner(self.world.schema, compiler.intents, self.world, installation=INSTALLATION)
        while True:
            keys = {*self.stored, *(Key(kind, name) for kind, name in self.world.facts)}
            outcomes = [runner.run(key) for key in sorted(keys) if key.kind in compiler.intents]
            facts = _facts(outcomes)
            if facts != self.world.facts:
                self.world.facts = facts
                continue
            requests = sorted((wish for outcome in outcomes for wish in outcome.requests), key=lambda wish: wish.name)
            if not requests:
                self.outcomes = outcomes
                if not self._store_made():
                    return
                continue
            for wish in requests:
                family, colon, _ = wish.pool.partition(":")
                first = FIRST_NUMBERS[family + colon]
                number = first + sum(pool == wish.pool for pool, _ in self.world.numbers)
                self.numbers[wish.owner] = self.world.numbers[wish.pool, wish.owner] = number

    def _store_made(self) -> bool:
        """Whether compilers made objects that have intents, too: these come back as resources."""
        made = [
            claim
            for claim in self.claims()
            if isinstance(claim, ResourceClaim) and claim.name.kind in compiler.intents
            if self.world.named(claim.name.kind, claim.name.fq_name) is None
        ]
        for claim in made:
            data: dict[str, Any] = {
                "uuid": object_uuid(INSTALLATION, claim.name, claim.owner),
                "fq_name": list(claim.name.fq_name),
                "annotations": {
                    "key_value_pair": [{"key": MARK_KEY, "value": f"{INSTALLATION}/contrail/{claim.owner}"}]
                },
            }
            if claim.parent:
                parent = claim.parent.key
                data |= {"parent_type": parent.kind.replace("_", "-"), "parent_uuid": parent.uuid}
            fields = {field: thaw(value) for field, value in claim.properties}
            if claim.name.kind == "instance_ip":
                family = fields["instance_ip_family"]
                taken = [
                    other
                    for key, other in self.stored.items()
                    if key.kind == "instance_ip" and len(other["fq_name"]) == 1 and "annotations" in other
                    if other["instance_ip_family"] == family
                ]
                fields["instance_ip_address"] = str(ipaddress.ip_address(LAST_ADDRESSES[family]) - len(taken))
            self._store(claim.name.kind, data | fields)
        return bool(made)

    def _given(self, name: Name) -> dict[str, Any]:
        """The address that the server gave to a made instance IP."""
        key = self.world.named(name.kind, name.fq_name) if name.kind == "instance_ip" else None
        return {"instance_ip_address": self.stored[key]["instance_ip_address"]} if key else {}

    def _stored_object(self, name: Name) -> dict[str, Any] | None:
        key = self.world.named(name.kind, name.fq_name)
        return None if key is None else {"kind": name.kind, **self.stored[key]}

    def _refer(self, holder: dict[str, Any], claim: ReferenceClaim) -> None:
        relation = self.world.schema.kind(claim.holder.kind).relations[claim.relation]
        field, to = f"{claim.relation}_refs", list(claim.target.fq_name)
        attribute = thaw(claim.attribute) if claim.attribute is not None else {}
        entries = holder[field] = [dict(entry) for entry in holder.get(field) or []]
        same = next((entry for entry in entries if entry["to"] == to), None)
        if same is None:
            entries.append({"to": to, "attr": attribute})
        elif relation.merge and same.get("attr", {}) != attribute:
            same["attr"] = {"import_export": ""}


def _set(holder: dict[str, Any], path: list[str], value: Any) -> None:
    """Put ``value`` at a path of fields, without touching the user's own dicts."""
    for field in path[:-1]:
        holder[field] = dict(holder.get(field) or {})
        holder = holder[field]
    holder[path[-1]] = value


def _facts(outcomes: list[Outcome]) -> dict[tuple[str, str], dict[Key, Any]]:
    """The facts that all intents yield: (kind, name) → contributor → value."""
    found: dict[tuple[str, str], dict[Key, Any]] = {}
    for outcome in outcomes:
        for fact in outcome.facts:
            found.setdefault((fact.kind, fact.name), {})[outcome.key] = fact.value
    return found


@functools.cache
def _seeded(settings: tuple[tuple[str, Any], ...]) -> dict[Name, dict[str, Any]]:
    """What follows from the seeds alone; not to be changed."""
    return NaiveCompile([], dict(settings)).objects()


_SEEDED = len(NaiveCompile([]).stored)
