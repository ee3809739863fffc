"""A publisher over a small compiler and the stand-in: what it sends, when nothing, and what it leaves out."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from intentc.bridges.azure.client import NotAccepted
from intentc.bridges.azure.compiled_world import SUSPECTED, Digests, Published, World
from intentc.bridges.azure.document import parts_of
from intentc.bridges.azure.pfx import Pair
from intentc.bridges.azure.publisher import MANAGED, Address, Gateway, Pass, Problems, Publisher
from intentc.bridges.azure.rejections import Rejection
from intentc.dev.gateway_validation import Fault
from intentc.dev.resource_manager import Answer, ResourceManager
from intentc.reconcile.failures import Conflict, Throttled, Unavailable
from tests.support.appgw.certificates import pair
from tests.support.azure_gateway import OWN, item, listener, reference, small_gateway

pytestmark = pytest.mark.anyio


class System:
    """A gateway, Ingresses with one site each, the compiler's part (it leaves out what a record says), and records.

    ``ingresses``: name → host. ``certificates``: Ingress → digest of its certificate. It is ``Manager`` and
    ``Records``."""

    def __init__(self) -> None:
        self.now = 0.0
        gateway = small_gateway()
        gateway["tags"][MANAGED] = "yes"
        self.azure = ResourceManager(gateway, lambda: self.now, put_seconds=1)
        self.ingresses: dict[str, str] = {"shop": "shop.example"}
        self.certificates: dict[str, str] = {}
        self.rejections: dict[str, Rejection] = {}
        self.kept = Published()
        self.held = ""
        self.served: dict[str, list[str]] = {}
        self.publisher = self.restarted()

    def restarted(self) -> Publisher:
        suspected = [name for name, one in self.rejections.items() if one.code == SUSPECTED]
        return Publisher(self, self, self.world, Gateway(OWN), self.kept, suspected)

    async def get(self, resource: str) -> dict[str, Any]:
        self.azure.meet("GET")
        return self.azure.get() if resource == OWN else {"properties": {"ipAddress": "192.0.2.1"}}

    async def put(self, resource: str, document: Mapping[str, Any], etag: str) -> None:
        try:
            _, operation = self.azure.put(dict(document), etag)
        except Answer as answer:
            error = NotAccepted(Rejection(answer.fault.code, answer.fault.message))
            raise Conflict(412, "") if answer.status == 412 else error from None
        self.now += 1
        if fault := self.azure.operation(operation.name).fault:
            raise Unavailable(fault.message)

    async def gateway(self, shown: dict[str, Any], published: Published) -> None:
        """The compiler of this test knows the gateway."""

    async def published(self, published: Published) -> None:
        self.kept = published

    async def publications(self, served: Mapping[str, Sequence[Address]]) -> None:
        self.served = {name: [one.ip for one in addresses] for name, addresses in served.items()}

    async def problems(self, problems: Problems) -> None:
        self.found = problems

    async def reject(self, ingress: str, digests: Digests, rejection: Rejection) -> None:
        assert digests.said == f"digest of {ingress}"
        self.rejections[ingress] = rejection

    async def release(self, ingress: str) -> None:
        del self.rejections[ingress]

    def world(self) -> World:
        objects: list[dict[str, Any]] = [
            {"kind": "appgw_document", "fq_name": ["d"], "gateway": OWN, "ownership": "total", "nothing": self.held}
        ]
        names = [name for name in sorted(self.ingresses) if f"sample:{name}" not in self.rejections]
        for name in names:
            objects += self._objects(name)
        return World(
            parts_of(objects),
            {f"sample:{name}": f"digest of sample:{name}" for name in names},
            self._secret,
            served=frozenset(self.served),
        )

    def _objects(self, name: str) -> list[dict[str, Any]]:
        owner = f"sample:{name}"
        port = "p443" if name in self.certificates else "p80"
        certified = {"protocol": "Https", "sslCertificate": reference("sslCertificates", f"cert-{name}")}
        configs = {
            "appgw_port": item("frontendPorts", port, port=int(port[1:])),
            "appgw_pool": item("backendAddressPools", "pool", backendAddresses=[]),
            "appgw_backend_settings": item("backendHttpSettingsCollection", "settings", port=80, protocol="Http"),
            "appgw_listener": listener(
                f"fl-{name}", self.ingresses[name], port=port, **(certified if name in self.certificates else {})
            ),
            "appgw_rule": item(
                "requestRoutingRules",
                f"rr-{name}",
                httpListener=reference("httpListeners", f"fl-{name}"),
                ruleType="Basic",
                backendAddressPool=reference("backendAddressPools", "pool"),
                backendHttpSettings=reference("backendHttpSettingsCollection", "settings"),
            ),
        }
        found: list[dict[str, Any]] = [
            {"kind": kind, "fq_name": [config["name"]], "config": config, "owners": [owner], "by": owner}
            for kind, config in configs.items()
        ]
        found.append({"kind": "appgw_owner", "fq_name": ["sample", name], "created": f"2026-{name}"})
        if digest := self.certificates.get(name):
            config = item("sslCertificates", f"cert-{name}")
            content = {"config": config, "digest": digest, "secret": f"sample:{name}", "owners": [owner]}
            found.append({"kind": "appgw_certificate", "fq_name": [f"cert-{name}"], **content})
        return found

    def _secret(self, name: str) -> Pair:
        found = pair(self.certificates[name.partition(":")[2]])
        return Pair(base64.b64decode(found.chain), base64.b64decode(found.key))

    async def until_quiet(self) -> Pass:
        for _ in range(40):
            found = await self.publisher.publish()
            if found.state in ("Applied", "Held", "ForeignConfiguration", "GatewayStopped") or found.failed:
                return found
        raise AssertionError(f"no rest: {found}")

    @property
    def hosts(self) -> list[str]:
        listeners = self.azure.get()["properties"]["httpListeners"]
        return sorted(name for one in listeners for name in one["properties"]["hostNames"])


@pytest.fixture
def system() -> System:
    return System()


async def test_what_was_compiled_is_sent_once(system: System) -> None:
    system.ingresses["cart"] = "cart.example"
    assert (await system.until_quiet()).state == "Applied"
    assert system.hosts == ["cart.example", "shop.example"]
    assert len(system.azure.puts) == 1
    assert (await system.until_quiet()).state == "Applied"
    assert len(system.azure.puts) == 1


async def test_a_new_process_sends_nothing_that_is_there(system: System) -> None:
    system.certificates["shop"] = "one"
    await system.until_quiet()
    system.publisher = system.restarted()
    assert (await system.until_quiet()).state == "Applied"
    assert len(system.azure.puts) == 1


async def test_the_data_of_a_certificate_is_sent_when_its_content_changes(system: System) -> None:
    system.certificates["shop"] = "one"
    await system.until_quiet()
    system.ingresses["cart"] = "cart.example"
    await system.until_quiet()
    system.certificates["shop"] = "two"
    await system.until_quiet()
    sent = [put["properties"]["sslCertificates"][0]["properties"] for put in system.azure.puts]
    assert [sorted(one) for one in sent] == [["data", "password"], [], ["data", "password"]]


async def test_another_writer_costs_a_new_look_and_loses_nothing(system: System) -> None:
    system.ingresses["cart"] = "cart.example"
    original = system.put

    async def put(resource: str, document: Mapping[str, Any], etag: str) -> None:
        system.put = original  # type: ignore[method-assign]
        system.azure.change(lambda properties: properties.update(enableHttp2=True))
        await original(resource, document, etag)

    system.put = put  # type: ignore[method-assign]
    assert (await system.publisher.publish()).state == "Changed"
    await system.until_quiet()
    assert system.azure.get()["properties"]["enableHttp2"] and "cart.example" in system.hosts


async def test_addresses_are_announced_once_the_gateway_serves_an_ingress(system: System) -> None:
    assert (await system.publisher.publish()).state == "Written"
    assert system.served == {}
    assert (await system.publisher.publish()).state == "Applied"
    assert system.served == {"sample:shop": ["192.0.2.1"]}


async def test_a_stopped_gateway_is_left_alone_and_serves_nobody(system: System) -> None:
    await system.until_quiet()
    system.azure.stop()
    system.ingresses["cart"] = "cart.example"
    assert (await system.until_quiet()).state == "GatewayStopped"
    assert len(system.azure.puts) == 1 and system.served == {}


async def test_a_gateway_that_is_being_updated_is_waited_for(system: System) -> None:
    system.azure.put(system.azure.get())
    found = await system.publisher.publish()
    assert found.state == "Updating" and found.after
    assert len(system.azure.puts) == 1


async def test_parts_of_others_are_not_removed_from_a_gateway_that_nobody_manages(system: System) -> None:
    gateway = small_gateway()
    system.azure.gateway = gateway
    assert (await system.until_quiet()).state == "ForeignConfiguration"
    system.publisher = Publisher(system, system, system.world, Gateway(OWN, takes_over=True), system.kept)
    assert (await system.until_quiet()).state == "Applied"


async def test_nothing_is_sent_while_the_compiler_says_that_nothing_may_change(system: System) -> None:
    system.held = "NoProhibitedTargets"
    assert (await system.until_quiet()) == Pass("Held", "NoProhibitedTargets")


async def test_the_ingress_that_a_rejection_names_is_left_out_and_the_rest_is_sent(system: System) -> None:
    system.ingresses["wrong"] = "wrong.example"
    system.azure.rejects.add("fl-wrong")
    await system.until_quiet()
    assert system.hosts == ["shop.example"]
    assert system.rejections.keys() == {"sample:wrong"}
    assert system.rejections["sample:wrong"].code == "ApplicationGatewayRejectedForATest"


@pytest.mark.parametrize("guilty", [f"i{number}" for number in range(7)])
async def test_an_ingress_that_nobody_names_is_found_by_halving(system: System, guilty: str) -> None:
    await system.until_quiet()
    system.ingresses |= {f"i{number}": f"i{number}.example" for number in range(7)}
    _reject_without_names(system, f"{guilty}.example")
    await system.until_quiet()
    assert system.rejections.keys() == {f"sample:{guilty}"}
    assert len(system.hosts) == 7 and f"{guilty}.example" not in system.hosts


async def test_no_ingress_is_left_out_for_long_if_azure_rejects_everything(system: System) -> None:
    await system.until_quiet()
    system.ingresses |= {"cart": "cart.example", "late": "late.example"}
    _reject_without_names(system, "")
    system.azure.change(lambda properties: properties.update(enableHttp2=True, httpListeners=[]))
    assert (await system.until_quiet()).state == "FailedApplyingAppGwConfig"
    await system.publisher.publish()
    assert not system.rejections


async def test_an_object_is_known_though_the_end_of_its_write_was_not_seen(system: System) -> None:
    system.azure.fails.append(Fault("InternalServerError", "An error occurred."))
    assert (await system.publisher.publish()).failed
    assert f"{OWN}/httpListeners/fl-shop" in system.kept.made


async def test_a_search_that_a_restart_ends_begins_again(system: System) -> None:
    await system.until_quiet()
    system.ingresses |= {f"i{number}": f"i{number}.example" for number in range(5)}
    _reject_without_names(system, "i3.example")
    while not any(one.code == SUSPECTED for one in system.rejections.values()):
        await system.publisher.publish()
    system.publisher = system.restarted()
    await system.until_quiet()
    assert system.rejections.keys() == {"sample:i3"}
    assert len(system.hosts) == 5


async def test_a_failed_operation_is_tried_again(system: System) -> None:
    system.ingresses["cart"] = "cart.example"
    system.azure.fails.append(Fault("InternalServerError", "An error occurred."))
    assert (await system.publisher.publish()).failed
    system.azure.change(lambda properties: properties.update(httpListeners=[], requestRoutingRules=[]))
    await system.until_quiet()
    assert "cart.example" in system.hosts


async def test_azure_says_how_long_to_wait(system: System) -> None:
    async def get(resource: str) -> dict[str, Any]:
        raise Throttled(7)

    system.get = get  # type: ignore[method-assign]
    assert (await system.publisher.publish()).after == 7


def _reject_without_names(system: System, host: str) -> None:
    """Azure rejects any document with ``host``, and says nothing about who is meant."""
    original = system.put

    async def put(resource: str, document: Mapping[str, Any], etag: str) -> None:
        if not host or any(host in one["properties"]["hostNames"] for one in document["properties"]["httpListeners"]):
            raise NotAccepted(Rejection("SomethingIsWrong", "Something is wrong."))
        await original(resource, document, etag)

    system.put = put  # type: ignore[method-assign]
