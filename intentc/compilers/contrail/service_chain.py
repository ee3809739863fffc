"""A service chain has routing instances below both of its networks, and leads traffic through its services
(docs/contrail.md D.8).

It is a fact that networks yield whose policies ask for it, and an intent while any does. It is made while both networks
ask, and each service has an address on the sides that the chain needs. Its instances are its own, so they are deleted
with the last rule that asks for it. ``service_chain_names.py`` decides which there are; their own route targets are the
business of ``routing_instance.py``. What others must know of a chain is yielded as facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

from intentc import Claim, Context, Fact, Intent, Name, ResourceClaim, Source, View, assign, refer, shared

from .instance_ip import prefixes
from .network_rules import AUTOMATIC, NetworkRules, way_sources
from .route_target_sources import Reasons, explained, listed_reasons
from .route_targets import BOTH, EXPORT, IMPORT, LISTS, list_directions, primary_name, primary_routing_instance
from .service_chain_names import Instance, Layout, ServiceChain, layout
from .service_ports import ONE_WAY, TRANSLATING, TRANSPARENT, Addresses, Host, is_physical, mode, running, steered
from .transparent_service import address_claims, given_addresses, steering, vlans


class Service(NamedTuple):
    """A service of the chain. ``left``, ``right``: its service addresses on both sides; ``hosts``: what traffic is
    steered through, if it is transparent."""

    name: str
    mode: str
    is_physical: bool
    left: Addresses = Addresses()
    right: Addresses = Addresses()
    hosts: tuple[Host, ...] = ()

    @property
    def translates(self) -> bool:
        return self.mode == TRANSLATING

    @property
    def is_transparent(self) -> bool:
        return self.mode == TRANSPARENT


class End(NamedTuple):
    """One network of the chain, with its primary routing instance, and why it asks for the chain."""

    network: View
    primary: View
    reasons: Reasons


def end(name: str, ways: Iterable[tuple[str, int]], ctx: Context) -> End | None:
    network = ctx.find("virtual_network", tuple(name.split(":")))
    primary = primary_routing_instance(network, ctx) if network is not None else None
    if network is None or primary is None:
        return None
    return End(network, primary, [way_sources((name, policy, position)) for policy, position in ways])


def services(chain: ServiceChain, ways: Iterable[tuple[str, int]], ctx: Context) -> list[Service] | None:
    """The services of the chain; None, with a problem for each fault, while one of them can't serve."""
    found: list[Service] = []
    rules = [(policy, position) for policy, position in ways if position != AUTOMATIC]
    if len({name.replace(":", "_") for name in chain.services}) < len(chain.services):
        for policy, position in rules:
            message = f"rule {position + 1} names a service twice; its traffic passes once each service is named once"
            ctx.problem_on("network_policy", policy, "RepeatedService", message)
        return None
    for name in chain.services:
        service = ctx.find("service_instance", tuple(name.split(":")))
        if service is None:
            for policy, position in rules:
                message = (
                    f"rule {position + 1}: there is no service instance {name}; its traffic passes once it is created"
                )
                ctx.problem_on("network_policy", policy, "UnknownServiceInstance", message)
            continue
        serving = _serving(service, name, chain)
        if serving is None:
            having = "" if mode(service) == TRANSPARENT else " with service addresses"
            message = (
                f"no port tuple or machine of it has a left and a right port{having}; traffic between networks passes "
                "through it once one has"
            )
            ctx.problem_on("service_instance", name, "ServiceWithoutPorts", message)
            continue
        found.append(serving)
    if len(found) < len(chain.services):
        return None
    return found


def _serving(service: View, name: str, chain: ServiceChain) -> Service | None:
    """The service as it can serve the chain; None while nothing that it runs on has the ports."""
    how = mode(service)
    if how == TRANSPARENT:
        hosts = steered(service)
        return Service(name, how, is_physical(service), hosts=hosts) if hosts else None
    runs = running(service, needs_right=how != TRANSLATING and chain.direction != ONE_WAY)
    return Service(name, how, is_physical(service), *runs) if runs else None


CHAIN = "service_chain"
"""The fact that a network asks for a chain: (network, chain, whether AS paths are kept, rules)."""

SHARING = "sharing_instance"
"""The fact that a network shares its own route target: (instance, import_export, reasons) for each instance."""

TRANSLATING_CHAIN = "translating_chain"
"""The fact that a chain between two networks (``a|b``, sorted) ends with a service that translates addresses, and so
separates them."""

STANDING = "standing_chain"
"""The fact that a chain leads through a service: (chain, names of its instances, whether the service is transparent,
reasons)."""

ADDRESSES = "chain_address"
"""The fact that an instance of a chain has service chain addresses: (IPv4, IPv6), empty for a family without one."""

INTERNAL = "__contrail_lr_internal_vn_"
"""In the names of routers' internal networks, whose routes are those of EVPN."""


def chain_facts(me: str, rules: NetworkRules) -> Iterator[Fact]:
    """The chains for which the rules of network ``me`` ask, covered ones too."""
    found: dict[ServiceChain, dict[tuple[str, int], bool]] = {}
    for _, origin in rules.origins:
        if origin.rule.chain is not None:
            keeps = bool(origin.rule.action.service_properties.retain_as_path)
            found.setdefault(origin.rule.chain, {}).setdefault((origin.policy, origin.position), keeps)
    for chain, ways in found.items():
        yield Fact(CHAIN, chain.uuid, (me, chain, next(iter(ways.values())), tuple(ways)))


class ServiceChainIntent(Intent):
    """A fact; its name is the chain's uuid."""

    kind = CHAIN

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        asking = {value[0]: value for _, value in ctx.contributions(CHAIN, self.name)}
        chain: ServiceChain = next(iter(asking.values()))[1]
        if not asking.keys() >= {chain.left, chain.right}:
            return
        left, right = (end(network, asking[network][3], ctx) for network in (chain.left, chain.right))
        members = services(chain, asking[chain.left][3], ctx)
        if left is None or right is None or members is None:
            return
        made = _Making(self, chain, {chain.left: left, chain.right: right}, members, bool(asking[chain.left][2]), ctx)
        yield from made.addresses()
        if not made.is_addressed:
            return
        flags = [end.network.multi_policy_service_chains_enabled for end in (left, right)]
        is_joined = all(flags) and not members[-1].translates
        yield from made.claims(layout(chain, [service.translates for service in members], is_joined=is_joined))
        if members[-1].translates:
            yield Fact(TRANSLATING_CHAIN, "|".join(sorted((chain.left, chain.right))), True)


class _Making:
    """Claims what a chain consists of."""

    def __init__(
        self,
        intent: Intent,
        chain: ServiceChain,
        ends: dict[str, End],
        services: list[Service],
        keeps_path: bool,
        ctx: Context,
    ) -> None:
        self._intent = intent
        self._chain = chain
        self._ends = ends
        self._services = services
        self._keeps_path = keeps_path
        self._ctx = ctx
        named = tuple(Source("service_instance", service.name) for service in services)
        asked = (ends[chain.left].reasons, ends[chain.right].reasons)
        self._reasons: Reasons = [_in_order(*one, *other, *named) for one, other in product(*asked)]

    def addresses(self) -> Iterator[Claim]:
        """The addresses of the chain for its transparent services."""
        for place, service in enumerate(self._services):
            if service.is_transparent:
                for claim in address_claims(self._intent, self._chain, service.name):
                    yield self._because(claim)
                given = given_addresses(self._chain, service.name, self._ctx)
                self._services[place] = service._replace(left=given, right=given)

    @property
    def is_addressed(self) -> bool:
        """Whether each service has an address."""
        return all(any(service.left) for service in self._services)

    def claims(self, found: Layout) -> Iterator[Claim | Fact]:
        instances = {instance.name: self._instance(instance) for instance in found.instances}
        for claim in instances.values():
            yield self._because(claim)
        for one, other in found.links:
            yield from self._linked(instances[one], instances[other])
        for edge, network in found.entries:
            yield from self._linked(instances[edge], self._ends[network].primary)
        for instance in found.instances:
            addresses = self._addresses(instance)
            if any(addresses):
                yield Fact(ADDRESSES, instance.name, addresses)
            if instance.is_edge:
                yield from self._exports(instances[instance.name], self._ends[instance.network].network)
            if self._services[instance.service].is_physical:
                primary = self._ends[instance.network].primary
                yield self._because(assign(primary, "routing_instance_has_pnf", True))
        yield from self._shared_targets(found)
        names = tuple(instance.name for instance in found.instances)
        steered = [
            (position, host)
            for position, service in enumerate(self._services)
            for host in (service.hosts if service.is_transparent else ())
        ]
        for (position, host), tag in zip(steered, vlans(steered, self._ctx), strict=True):
            yield from self._steered(self._services[position], host, tag, instances)
        for service in self._services:
            yield Fact(STANDING, service.name, (self._chain, names, service.is_transparent, tuple(self._reasons)))

    def _steered(self, service: Service, host: Host, tag: int, instances: dict[str, ResourceClaim]) -> Iterator[Claim]:
        """The references of the ports of a transparent service's host to its routing instances on both sides."""
        left, right = (
            instances[self._chain.routing_instance(network, service.name)]
            for network in (self._chain.left, self._chain.right)
        )
        for port, claim in zip(host.ports, steering(host, tag, service.left, left, right), strict=True):
            belongs = Source.of(port, f"{host.host.kind}_refs[{':'.join(host.host.fq_name)}]")
            yield self._because(claim, belongs)

    def _instance(self, instance: Instance) -> ResourceClaim:
        service = self._services[instance.service]
        fields: dict[str, Any] = {"routing_instance_has_pnf": True} if service.is_physical else {}
        is_internal = INTERNAL in instance.network
        for version, family, address in zip((4, 6), ("", "ipv6_"), self._addresses(instance), strict=True):
            if address:
                field = f"{'evpn_' if is_internal else ''}{family}service_chain_information"
                fields[field] = self._information(instance, version, address)
        name = instance.name.rpartition(":")[2]
        return self._intent.child_of(self._ends[instance.network].network, "routing_instance", name, **fields)

    def _addresses(self, instance: Instance) -> Addresses:
        """The service chain addresses of an instance; one on the right has none if traffic goes one way."""
        service = self._services[instance.service]
        if instance.network == self._chain.left:
            return service.left
        return service.right if self._chain.direction != ONE_WAY else Addresses()

    def _information(self, instance: Instance, version: int, address: str) -> dict[str, Any]:
        near, far = self._ends[instance.network].network, self._ends[instance.far].network
        service = self._services[instance.service]
        return {
            "service_chain_id": self._chain.uuid,
            "service_instance": service.name,
            "prefix": prefixes(far, version),
            "routing_instance": ":".join(primary_name(far)),
            "source_routing_instance": "" if service.is_transparent else ":".join(primary_name(near)),
            "service_chain_address": address,
            "sc_head": INTERNAL in instance.network and instance.is_edge,
            "retain_as_path": self._keeps_path,
        }

    def _linked(self, one: ResourceClaim, other: ResourceClaim | View) -> Iterator[Claim]:
        yield self._because(refer(one, other))
        yield self._because(refer(other, one))

    def _exports(self, edge: ResourceClaim, network: View) -> Iterator[Claim]:
        """The targets that the network and its BGP VPNs import and export are exported by its edge."""
        for source in (network, *network.references("bgpvpn")):
            attached = () if source is network else (Source.of(network, f"bgpvpn_refs[{':'.join(source.fq_name)}]"),)
            for text, direction in list_directions(source, self._ctx).items():
                if direction != BOTH:
                    continue
                target = shared("route_target", (text,))
                for claim in (target, refer(edge, target, import_export=EXPORT)):
                    if self._ctx.explaining:
                        for place in _both_ways(source, text):
                            self._because(claim, *place, *attached)
                    yield claim

    def _shared_targets(self, found: Layout) -> Iterator[Fact]:
        """The instances that import or export a network's own route target, which its primary one knows."""
        sharing: dict[str, list[tuple[Any, ...]]] = {}
        joined = tuple(Source.of(end.network, "multi_policy_service_chains_enabled") for end in self._ends.values())
        edges = {instance.name for instance in found.instances if instance.is_edge}
        for name, network in found.imports:
            why = joined if name in edges else ()
            sharing.setdefault(network, []).append((name, IMPORT, self._with(why)))
        for instance in found.instances:
            end = self._ends[instance.network].network
            if instance.is_edge and end.virtual_network_properties.allow_transit:
                transit = Source.of(end, "virtual_network_properties.allow_transit")
                sharing.setdefault(instance.network, []).append((instance.name, EXPORT, self._with((transit,))))
        for network, entries in sharing.items():
            yield Fact(SHARING, network, tuple(entries))

    def _with(self, sources: tuple[Source, ...]) -> tuple[tuple[Source, ...], ...]:
        return tuple((*reason, *sources) for reason in self._reasons)

    def _because(self, claim: Claim, *sources: Source) -> Claim:
        """``claim``, with its reasons while they are requested; ``sources`` belong to each of them."""
        return explained(self._ctx, claim, (tuple(dict.fromkeys((*reason, *sources))) for reason in self._reasons))


def _in_order(*sources: Source) -> tuple[Source, ...]:
    """Each source once, as a story: the rules of policies first, then the networks that attach them, then services."""
    return tuple(sorted(dict.fromkeys(sources), key=lambda source: source.kind != "network_policy"))


def shared_targets(network: str, target: ResourceClaim, ctx: Context) -> Iterator[Claim]:
    """References of chains' instances to ``target``, the own route target of the network's primary instance."""
    for _, entries in ctx.contributions(SHARING, network):
        for name, direction, reasons in entries:
            claim = refer(Name("routing_instance", tuple(name.split(":"))), target, import_export=direction)
            yield explained(ctx, claim, reasons)


def _both_ways(source: View, text: str) -> Reasons:
    """The places of a target that is imported and exported: in the list of both, or in the two others."""
    imported, exported = (listed_reasons(source, [field], text) for field in LISTS[1:])
    return [*listed_reasons(source, LISTS[:1], text), *((*one, *other) for one, other in product(imported, exported))]
