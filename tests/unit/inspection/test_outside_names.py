"""What is known by another name outside is found by it: with the word for such names, or with its kind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from intentc import Compiled, Compiler, Naming
from intentc.diagnostics.questions import NamedAs, Unanswerable
from intentc.inspection.why import why
from intentc.testing import MemoryService, load, service_for
from tests.support.toy.compiler import compiler as toy

pytestmark = pytest.mark.anyio


def called(text: str, compiled: Compiled) -> Iterator[tuple[str, str]]:
    """``port N``: whoever listens there."""
    for listener in compiled.objects("toy_listener"):
        if text == f"port {listener['port']}":
            yield "toy_listener", ":".join(listener["fq_name"])


@pytest.fixture
async def service() -> MemoryService:
    compiler = Compiler(
        "toy",
        toy.intents.values(),
        schema_directories=toy.schema_directories,
        reactions=toy.reactions,
        names={"proxy": Naming(("toy_listener",), called)},
    )
    service = service_for(compiler)
    gateways = "".join(
        f"  - {{kind: toy_gateway, data: {{fq_name: [shop, {name}], hostname: '*', port: {port}}}}}\n"
        for name, port in (("one", 1), ("two", 2), ("twin", 2))
    )
    await service.create(load(f"resources:\n{gateways}"))
    return service


@pytest.mark.parametrize("kind", ["proxy", "Proxy", "toy_listener", "ToyListener"])
async def test_what_has_a_name_outside_is_found_by_it(service: MemoryService, kind: str) -> None:
    answer = await why(service.offline.engine, kind, "port 1")
    assert (answer["kind"], answer["name"], answer["exists"]) == ("toy_listener", "shop-one", True)
    assert [owner["name"] for owner in answer["owners"]] == ["shop:one"]


async def test_a_name_that_several_have_is_answered_with_them(service: MemoryService) -> None:
    with pytest.raises(Unanswerable) as raised:
        await why(service.offline.engine, "proxy", "port 2")
    assert raised.value.status == 409
    assert set(raised.value.candidates) == {"toy_listener shop-two", "toy_listener shop-twin"}
    assert raised.value.named_as is NamedAs.KINDS_AND_NAMES


async def test_a_name_that_nothing_has_outside_is_reported_as_such(service: MemoryService) -> None:
    with pytest.raises(Unanswerable) as raised:
        await why(service.offline.engine, "proxy", "port 9")
    assert (raised.value.status, raised.value.error) == (404, "nothing of proxy is called 'port 9'")


async def test_a_kind_without_such_names_has_none(service: MemoryService) -> None:
    answer = await why(service.offline.engine, "toy_gateway", "port 1")
    assert answer["exists"] is False


async def test_a_word_that_is_nearly_right_is_suggested(service: MemoryService) -> None:
    with pytest.raises(Unanswerable) as raised:
        await why(service.offline.engine, "proxi", "port 1")
    assert "proxy" in raised.value.candidates
