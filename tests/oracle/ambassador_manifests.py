"""What the oracle for Ambassador reads in manifests: names, labels, weights, and where services are found.

Of ``ambassador.py`` beside it, which decides what becomes of a request; the same rules: naive, and nothing of intentc.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tests.oracle.ambassador_ingress import meant

Json = dict[str, Any]

GATEWAYS_NAMESPACE = "default"


class World:
    """All manifests that are meant for this gateway, and what its Ingresses mean."""

    def __init__(self, manifests: list[Json]) -> None:
        ours = [one for one in manifests if "default" in one.get("spec", {}).get("ambassador_id", ["default"])]
        ingresses = [one for one in ours if one["kind"] == "Ingress"]
        self.manifests = [*(one for ingress in ingresses for one in meant(ingress, ours)), *ours]

    def all(self, kind: str) -> list[Json]:
        return sorted((one for one in self.manifests if one["kind"] == kind), key=name)

    def find(self, kind: str, full_name: str) -> Json | None:
        return next((one for one in self.all(kind) if ":".join(name(one)) == full_name), None)

    @property
    def module(self) -> Json:
        named = [one for one in self.all("Module") if one["metadata"]["name"] == "ambassador"]
        return named[0]["spec"].get("config", {}) if named else {}


def name(manifest: Json) -> tuple[str, str]:
    return manifest["metadata"]["namespace"], manifest["metadata"]["name"]


def full(manifest: Json) -> str:
    return ":".join(name(manifest))


def labels(manifest: Json) -> set[tuple[str, str]]:
    return set(manifest["metadata"].get("labels", {}).items())


def selector(holder: Json) -> set[tuple[str, str]]:
    return set(holder.get("matchLabels", {}).items())


def understood(mapping: Json) -> bool:
    """Whether its service is one: what isn't gets no requests, and its requests go nowhere else."""
    return "/" not in mapping["spec"]["service"].removeprefix("https://")


def divided(members: list[Json]) -> list[tuple[Json, Fraction]]:
    """In percent; who would go past 100 is left out, who says nothing shares the rest, and what is missing from 100
    where all say something belongs to all in proportion."""
    if len(members) == 1:
        return [(members[0], Fraction(1))]
    taken: list[Json] = []
    for member in members:
        if sum(other["spec"].get("weight", 0) for other in (*taken, member)) <= 100:
            taken.append(member)
    silent = [member for member in taken if "weight" not in member["spec"]]
    total = sum(member["spec"].get("weight", 0) for member in taken)
    if silent:
        rest = Fraction(100 - total, 100 * len(silent))
        return [(m, rest if m in silent else Fraction(m["spec"]["weight"], 100)) for m in taken]
    if total == 0:
        return [(member, Fraction(1, len(taken))) for member in taken]
    return [(member, Fraction(member["spec"]["weight"], total)) for member in taken]


def targets(world: World, mapping: Json) -> dict[tuple[str, bool], Fraction]:
    """(host:port, whether TLS is spoken) → probability; an empty host:port where nothing can be reached."""
    spec = mapping["spec"]
    service, tls = spec["service"], spec["service"].startswith("https://") or bool(spec.get("tls"))
    contexts = [one for one in world.all("TLSContext") if one["metadata"]["name"] == spec.get("tls")]
    # One of its own namespace, or the only one there is.
    if spec.get("tls") and len(contexts) != 1 and name(mapping)[0] not in [name(one)[0] for one in contexts]:
        return {("", False): Fraction(1)}
    host, _, port_text = service.removeprefix("https://").partition(":")
    port = int(port_text) if port_text else 443 if tls else 80
    qualified = "." in host or world.module.get("use_ambassador_namespace_for_service_resolution")
    namespace = GATEWAYS_NAMESPACE if qualified else name(mapping)[0]
    if (spec.get("resolver") or world.module.get("resolver")) != "endpoint":
        dns = host if qualified or namespace == GATEWAYS_NAMESPACE else f"{host}.{namespace}"
        return {(f"{dns}:{port}", tls): Fraction(1)}
    if "." in host:
        host, namespace = host.split(".")
    found = endpoints(world, f"{namespace}:{host}", port)
    return {(target, tls): Fraction(1, len(found)) for target in found} or {("", False): Fraction(1)}


def endpoints(world: World, service: str, port: int) -> set[str]:
    declared, listed = world.find("Service", service), world.find("Endpoints", service)
    if declared is None or listed is None:
        return set()
    named = [one.get("name", "") for one in declared["spec"]["ports"] if one["port"] == port]
    return {
        f"{address['ip']}:{one['port']}"
        for subset in listed["subsets"]
        for one in subset["ports"]
        if one.get("name", "") in named
        for address in subset["addresses"]
    }
