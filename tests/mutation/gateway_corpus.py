"""Histories made to need each reaction between Ambassador's kinds: every resource comes late, changes, or goes.

Late means that the watch delivers everything else first. The end is right if a compile of the last world from nothing
gives the same, problems included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from intentc.compilers.ambassador.envoy_elements import digest
from tests.mutation.stories import Corpus, MutantSystem, Story
from tests.oracle.ambassador_manifests import Json
from tests.property.gateway_demands import from_nothing, lived
from tests.property.gateway_steps import LOADED
from tests.property.gateway_world import world
from tests.property.gateways import KINDS, apply_manifest

_CHANGES: dict[tuple[str, str], Json] = {
    ("Host", "shop"): {"mappingSelector": {"matchLabels": {"team": "blue"}}},
    ("Host", "bank"): {"tlsContext": {"name": "nobody"}},
    ("Listener", "front"): {"port": 8080},
    ("Listener", "second"): {"port": 9090},
    ("TLSContext", "secure"): {"min_tls_version": "v1.2"},
    ("Service", "echo"): {"ports": [{"name": "web", "port": 8080}]},
    ("Module", "ambassador"): {"config": {}},
    ("AuthService", "auth"): {"path_prefix": "/verify"},
    ("RateLimitService", "more-rates"): {"timeout_ms": 500},
    ("TracingService", "more-traces"): {"sampling": {"overall": 10}},
}
"""(kind, name) → the fields that change."""


async def _put(system: MutantSystem) -> None:
    for manifest in (*world(), OTHER_MODULE):
        await apply_manifest(system, manifest)


class Late(NamedTuple):
    """The watch delivers it after everything else."""

    manifest: Json
    compiled: bool = False

    @property
    def kind(self) -> str:
        return KINDS[self.manifest["kind"]]

    async def live(self, system: MutantSystem) -> None:
        metadata = self.manifest["metadata"]
        uuid = await system.uuid(self.kind, (metadata["namespace"], metadata["name"]))
        assert uuid is not None
        system.hidden.add(uuid)
        await system.settle()
        system.hidden.clear()
        metadata = {**metadata, "annotations": {"it": "comes"}}
        await apply_manifest(system, {**self.manifest, "metadata": metadata})


class Changed(NamedTuple):
    """It was otherwise: ``fields`` are what it changes to, or was; both ways."""

    manifest: Json
    fields: Json
    back: bool
    compiled: bool = True

    @property
    def kind(self) -> str:
        return KINDS[self.manifest["kind"]]

    async def live(self, system: MutantSystem) -> None:
        other = {**self.manifest, "spec": {**self.manifest["spec"], **self.fields}}
        former, latter = (other, self.manifest) if self.back else (self.manifest, other)
        await apply_manifest(system, former)
        await system.settle()
        await apply_manifest(system, latter)


class Gone(NamedTuple):
    """It is deleted."""

    manifest: Json
    compiled: bool = True

    @property
    def kind(self) -> str:
        return KINDS[self.manifest["kind"]]

    async def live(self, system: MutantSystem) -> None:
        await system.settle()
        metadata = self.manifest["metadata"]
        assert await system.delete(self.kind, (metadata["namespace"], metadata["name"]))


class Asked(NamedTuple):
    """The way to an AuthService that lets requests pass while nobody answers leads over it: it comes, or goes. Without
    a way there is no such leave."""

    manifest: Json
    goes: bool
    compiled: bool = True

    @property
    def kind(self) -> str:
        return KINDS[self.manifest["kind"]]

    async def live(self, system: MutantSystem) -> None:
        name = self.manifest["metadata"]["name"]
        tls = {"tls": name} if self.manifest["kind"] == "TLSContext" else {}
        resolver = {} if tls else {"resolver": name}
        for one in world():
            if one["kind"] == "AuthService":
                await apply_manifest(system, {**one, "spec": {**one["spec"], **tls, "failure_mode_allow": True}})
            elif one["kind"] == "Module":
                await apply_manifest(system, {**one, "spec": {"config": resolver}})
        if self.goes:
            await apply_manifest(system, self.manifest)
        await system.settle()
        if self.goes:
            assert await system.delete(self.kind, ("default", name))
        else:
            await apply_manifest(system, self.manifest)


class Rejected(NamedTuple):
    """Several AuthServices are asked as one, and Envoy rejects the cluster that joins them: they must report it."""

    kind: str = "envoy_rejection"
    compiled: bool = True

    async def live(self, system: MutantSystem) -> None:
        for one in world():
            if one["kind"] == "AuthService" and one["metadata"]["name"] == "later":
                await apply_manifest(system, {**one, "spec": {"auth_service": "later"}})
        await system.settle()
        clusters = (await system.world())["envoy_cluster"].values()
        (joined,) = [one for one in clusters if one["fq_name"][0].startswith("cluster_joined-")]
        rejected = {"digest": digest(joined["config"]), "message": "no such thing"}
        assert await system.put(self.kind, ("envoy_cluster", joined["fq_name"][0]), rejected)


class Classed(NamedTuple):
    """An Ingress is ours by the class that it names, which comes, or goes."""

    goes: bool
    kind: str = "ingress_class"
    compiled: bool = True

    async def live(self, system: MutantSystem) -> None:
        (ours,) = [one for one in world() if one["kind"] == "Ingress"]
        metadata = {"namespace": "default", "name": "classed"}
        await apply_manifest(
            system, {**ours, "metadata": metadata, "spec": {**ours["spec"], "ingressClassName": "own"}}
        )
        if self.goes:
            await apply_manifest(system, _CLASS)
        await system.settle()
        if self.goes:
            assert await system.delete(self.kind, ("own",))
        else:
            await apply_manifest(system, _CLASS)


_CLASS: Json = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "IngressClass",
    "metadata": {"namespace": "default", "name": "own"},
    "spec": {"controller": "getambassador.io/ingress-controller"},
}
_ASKED: tuple[Json, ...] = tuple(
    {
        "apiVersion": "getambassador.io/v3alpha1",
        "kind": kind,
        "metadata": {"namespace": "default", "name": "way"},
        "spec": spec,
    }
    for kind, spec in (
        ("TLSContext", {"sni": "auth.example"}),
        ("KubernetesServiceResolver", {}),
        ("KubernetesEndpointResolver", {}),
        ("ConsulResolver", {"address": "consul:8500", "datacenter": "one"}),
    )
)
_METADATA: Json = {"namespace": "shop", "name": "ambassador"}
OTHER_MODULE: Json = {
    "apiVersion": "getambassador.io/v3alpha1", "kind": "Module", "metadata": _METADATA, "spec": {"config": {}}
}  # fmt: skip
"""Of two Modules of one name the first counts."""


def _stories() -> Iterator[Story]:
    manifests = (*world(), OTHER_MODULE)
    for manifest in manifests:
        yield Late(manifest)
        yield Gone(manifest)
        fields = _CHANGES.get((manifest["kind"], manifest["metadata"]["name"]))
        if fields is not None:
            yield Changed(manifest, fields, False)
            yield Changed(manifest, fields, True)
    for manifest in _ASKED:
        yield Asked(manifest, False)
        yield Asked(manifest, True)
    yield Classed(False)
    yield Classed(True)
    yield Rejected()


async def _right(system: MutantSystem) -> bool:
    return await lived(system) == await from_nothing(await system.world())


CORPUS = Corpus(LOADED, tuple(_stories()), _put, _right)
