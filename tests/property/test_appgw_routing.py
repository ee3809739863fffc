"""Requests are answered as the Ingresses say, when the document is evaluated as an Application Gateway does.

A router over the document (tests/support/appgw/router.py) and one over the Ingresses answer random requests in random
worlds (docs/appgw.md §6.5, §6.7, §6.8).
"""

from __future__ import annotations

import fnmatch
from random import Random
from typing import Any

import pytest

from tests.oracle.appgw import Naive
from tests.oracle.appgw_backends import Backends
from tests.support.appgw.manifests import PREFIX
from tests.support.appgw.random_worlds import gateway, random_manifest, usual
from tests.support.appgw.router import Request, Router, dangling
from tests.support.appgw.system import DocumentSystem, manifests

pytestmark = pytest.mark.anyio
NAMES = ("a.test", "b.test", "c.b.test", "x.test", "e1.test", "e6.test", "other.example")
PATHS = ("/", "/a", "/A", "/a/", "/a/b", "/a/B/c", "/ab", "/.well-known/acme-challenge/x", "/z")
CHALLENGE = "/.well-known/acme-challenge/"


async def world_of(random: Random, size: int = 30) -> DocumentSystem:
    """A random world in which no Ingress asks for a priority: that may give any order."""
    system = DocumentSystem(gateway())
    await system.start()
    await system.put(*usual(random))
    for _ in range(size):
        manifest = random_manifest(random)
        manifest["metadata"].get("annotations", {}).pop(f"{PREFIX}rule-priority", None)
        await system.put(manifest)
    return system


class Expected:
    """What the Ingresses say about requests."""

    def __init__(self, naive: Naive) -> None:
        items = naive.ingresses()
        self.backends = Backends(naive)
        for item in items:
            self.backends.add(item)
        self.backends.finish()
        self.naive, self.items = naive, items
        self.sites = naive.claims(items)

    def answer(self, request: Request) -> Any:
        """None, ``("redirect", port)``, or (the settings, the pool) of a backend."""
        site = self.site(request)
        if site is None:
            return None
        best: Any = None
        for order, claim in enumerate(self.sites[site]):
            for path in claim["paths"]:
                length = self.length(path, request.path) if path["backend"] and not path["all"] else None
                if length is not None:
                    # Exact patterns first, then the longest; of equal ones, the bare half of a prefix comes last.
                    rank = (length, order, path["j"])
                    best = min(best or (rank, claim, path), (rank, claim, path), key=lambda one: one[0])
        if best is not None:
            _, claim, path = best
            return self.target(claim, path["backend"])
        default = self.naive.default(self.sites[site])
        return self.target(*default) if default else ("defaulthttpsetting", "defaultaddresspool")

    def site(self, request: Request) -> Any:
        """The site that takes a request: the exact name, else the longest wildcard, else all names."""
        found = []
        for site in self.sites:
            frontend, port, protocol, name = site
            if (frontend, port, protocol) != request[:3]:
                continue
            if name == request.host:
                found.append((0, 0, site))
            elif "*" in name and fnmatch.fnmatchcase(request.host, name):
                found.append((1, -len(name), site))
            elif not name:
                found.append((2, 0, site))
        return min(found)[2] if found else None

    @staticmethod
    def length(path: dict[str, Any], text: str) -> tuple[int, ...] | None:
        """The rank of a path for a request, lowest first; None if it does not match."""
        text = text.lower()
        ranks: list[tuple[int, ...]] = []
        for place, pattern in enumerate(path["patterns"]):
            pattern = pattern.lower()
            if pattern.endswith("*"):
                if text.startswith(pattern[:-1]):
                    ranks.append((1, 1 - len(pattern)))
            elif text == pattern:
                # The bare half of a prefix counts as long as the prefix.
                ranks.append((1, -len(pattern) - 1) if path["weak"] and place == 0 else (0, 0))
        return min(ranks) if ranks else None

    def target(self, claim: Any, backend: Any) -> Any:
        if claim["mode"] == "redirect":
            return ("redirect", claim["target"])
        entry = self.backends.found[claim["item"]["name"], *backend]
        return entry["settings"], entry["pool"] or "defaultaddresspool"


def requests(random: Random) -> list[Request]:
    return [
        Request(random.choice(["Public", "Private"]), port, protocol, random.choice(NAMES), random.choice(PATHS))
        for port, protocol in ((80, "Http"), (443, "Https"), (8080, "Http"), (8080, "Https"), (443, "Http"))
        for _ in range(25)
    ]


@pytest.mark.parametrize("seed", range(12))
async def test_requests_are_answered_as_the_ingresses_say(seed: int) -> None:
    random = Random(seed)
    system = await world_of(random)
    document = system.assembled().document
    assert dangling(document) == []
    router, expected = Router(document), Expected(Naive(list(manifests(system.world)), system.gateway))
    if not expected.sites:
        return
    for request in requests(random):
        found, wanted = router.answer(request), expected.answer(request)
        if wanted is None:
            assert found is None
        elif wanted[0] == "redirect":
            assert found is not None
            assert found.redirect
        else:
            assert found is not None
            assert (found.settings, found.pool) == wanted


@pytest.mark.parametrize("seed", range(200, 212))
async def test_cleartext_listeners_of_tls_names_answer_only_redirects_and_challenges(seed: int) -> None:
    random = Random(seed)
    system = await world_of(random)
    naive = Naive(list(manifests(system.world)), system.gateway)
    covered = naive.covered()
    document = system.assembled().document
    router = Router(document)
    ports = {one["id"]: one["properties"]["port"] for one in document["properties"]["frontendPorts"]}
    frontends = {"public": "Public", "private": "Private"}
    for listener in document["properties"]["httpListeners"]:
        given = listener["properties"]
        for name in given["hostNames"] or [""]:
            wildcard = "*" + name[name.index(".") :] if "." in name else name
            if given["protocol"] != "Http" or not {name, wildcard} & covered:
                continue
            frontend = frontends[given["frontendIPConfiguration"]["id"].rpartition("/")[2]]
            host = name.replace("*", "x") or "any.example"
            for path in PATHS:
                request = Request(frontend, ports[given["frontendPort"]["id"]], "Http", host, path)
                found = router.answer(request)
                assert found is not None
                is_default = found.settings == "defaulthttpsetting" and found.pool == "defaultaddresspool"
                assert found.redirect or is_default or path.startswith(CHALLENGE)
