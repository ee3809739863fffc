"""The publisher is killed before and after each of its requests, in the midst of every sort of change, and restarted.

As F02 for compilers, in memory: each request to Azure and to the API server is two moments. Afterwards the gateway has
what a publisher that nobody killed would have sent, nothing was sent that changed nothing, and no two writes ran at
once. Here each change is met at every fourth moment; ``make faults`` takes all, and kills each successor at each of its
own moments as well.
"""

from __future__ import annotations

import base64
import logging
from typing import Any

import pytest

from intentc.bridges.azure.compiled_world import RECORDS
from intentc.bridges.azure.pfx import PASSWORD, Pair
from tests.faults.needless import changes_something
from tests.faults.scale import FULL
from tests.support.appgw.certificates import pair
from tests.support.appgw.manifests import Manifest, endpoint_slice, ingress, rule, secret, service
from tests.support.secret_search import assert_shows_none
from tests.unit.bridges.azure.published_system import Killed, PublishedSystem

pytestmark = pytest.mark.anyio
TO_CART = ("/", "Prefix", "cart")
SHOP = ingress(
    "shop",
    rule("shop.test", TO_CART),
    created="2026-01-01T00:00:00Z",
    tls=[{"hosts": ["shop.test"], "secretName": "account"}],
)
BAD = ingress("late", rule("bad.test", TO_CART), created="2026-02-01T00:00:00Z")
GOOD = ingress("late", rule("late.test", TO_CART), created="2026-02-01T00:00:00Z")
Change = tuple[str, tuple[Manifest, ...], list[str]]
CHANGES: tuple[Change, ...] = (
    ("scaled", (endpoint_slice("cart", "10.0.0.2"),), ["shop.test"]),
    ("rotated", (secret("account", *pair("two.test")),), ["shop.test"]),
    ("rejected", (BAD,), ["shop.test"]),
    ("repaired", (GOOD,), ["late.test", "shop.test"]),
)
BACK: tuple[Manifest, ...] = (endpoint_slice("cart", "10.0.0.1"), secret("account", *pair("one.test")))


class _Watched(PublishedSystem):
    """A system that notes documents that were sent and change nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.needless: list[str] = []
        self.azure.fills_in = {"probes": {"extra": 1}}
        self.azure.rejects.add("bad.test")
        self.azure.on_put = self._note
        self.moment = ""

    def certificate(self) -> Pair:
        """What is in the Secret now."""
        found = self.compiler.world["Secret", "shop", "account"]["data"]
        return Pair(base64.b64decode(found["tls.crt"]), base64.b64decode(found["tls.key"]))

    def _note(self, former: dict[str, Any], sent: dict[str, Any]) -> None:
        if not changes_something(former, sent, self.certificate(), "probes"):
            self.needless.append(self.moment)


async def _before(system: PublishedSystem, position: int) -> None:
    """The world before a change, published."""
    if ("Ingress", "shop", "late") in system.compiler.world:
        await system.delete(("Ingress", "shop", "late"))
    await system.apply(*BACK, *(one for _, manifests, _hosts in CHANGES[:position] for one in manifests))
    await system.until_quiet()


async def _killed(system: PublishedSystem, moment: int) -> bool:
    """Let the process live for ``moment`` more moments; whether it died before it had nothing left to do."""
    system.kill_at = system.steps + moment
    try:
        await system.until_quiet()
    except Killed:
        await system.restart()
        return True
    system.kill_at = 0
    return False


@pytest.mark.parametrize("position", range(len(CHANGES)), ids=[change[0] for change in CHANGES])
async def test_a_publisher_that_is_killed_at_any_moment_costs_nothing_but_time(
    position: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    name, manifests, hosts = CHANGES[position]
    system = _Watched()
    await system.start(service("cart"), SHOP, *BACK)
    await _before(system, position)
    has_died, moment = True, position + 1
    while has_died:
        system.moment = f"{name} {moment}"
        await system.apply(*manifests)
        has_died = await _killed(system, moment)
        for second in range(1, 40) if FULL and has_died else ():
            system.moment = f"{name} {moment} and {second}"
            if not await _killed(system, second):
                break
        await system.until_quiet()
        assert system.hosts == hosts, system.moment
        (shown,) = system.azure.get()["properties"]["sslCertificates"]
        assert system.certificate().is_in(shown["properties"]["publicCertData"]), system.moment
        pools = system.azure.get()["properties"]["backendAddressPools"]
        assert [one["properties"]["backendAddresses"] for one in pools] == [[{"ipAddress": "10.0.0.2"}]]
        await system.restart()
        assert (await system.look()).state == "Applied", system.moment
        if has_died:
            await _before(system, position)
            moment += 1 if FULL else len(CHANGES)
    assert moment > 8, "it was killed nowhere"
    assert system.needless == []
    assert system.azure.most_at_once == 1
    _shows_no_secret(system, caplog.text)


def _shows_no_secret(system: PublishedSystem, logs: str) -> None:
    kinds = (*RECORDS, "appgw_certificate", "appgw_owner")
    places = {
        "logs": logs,
        "statuses": [(one.message, one.problems) for one in system.passes],
        "records": [one.fields for kind in kinds for one in system.stored.of_kind(kind)],
        "problems": [str(one) for one in system.offline.problems()],
        "journal": [str(line) for line in system.offline.engine.journal],
    }
    assert_shows_none(places, [PASSWORD, *(base64.b64decode(pair(name).key) for name in ("one.test", "two.test"))])
