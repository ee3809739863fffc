"""``intentc dev`` starts the small servers that annotations ask for, and none that others could reach."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from intentc.cli.command_error import CommandError
from intentc.dev.child_process import free_ports
from intentc.dev.echo_services import ANNOTATION, Echo, running_echoes, wanted
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


def annotated(name: str, address: object) -> dict[str, Any]:
    return {"fq_name": ["sample", name], "annotations": {"key_value_pair": [{"key": ANNOTATION, "value": address}]}}


def test_a_requested_echo_server_has_the_requested_name() -> None:
    assert wanted([annotated("blue", "127.0.0.1:8001"), annotated("green", "[::1]:8002")]) == [
        Echo("blue", "127.0.0.1:8001"),
        Echo("green", "[::1]:8002"),
    ]


def test_what_has_no_annotation_asks_for_none() -> None:
    assert wanted([{"fq_name": ["sample", "blue"]}, {"fq_name": ["sample", "b"], "annotations": None}]) == []


@pytest.mark.parametrize("address", ["0.0.0.0:8001", "10.0.0.1:8001", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:http", 80])
def test_an_address_that_is_not_one_of_this_machine_is_rejected(address: object) -> None:
    with pytest.raises(CommandError, match=r"annotation intentc\.dev/echo of blue"):
        wanted([annotated("blue", address)])


async def in_chunks() -> AsyncIterator[bytes]:
    yield b"12"
    yield b"345"


async def test_each_server_answers_with_its_name_and_what_it_got() -> None:
    ports = free_ports(2)
    echoes = [Echo(name, f"127.0.0.1:{port}") for name, port in zip(("blue", "green"), ports, strict=True)]
    async with running_echoes(echoes), httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as client:
        answer = (await client.post(f"http://127.0.0.1:{ports[1]}/a/b?c=d", content=b"12", headers={"X-A": "1"})).json()
        assert (answer["service"], answer["method"], answer["path"]) == ("green", "POST", "/a/b")
        assert (answer["query"], answer["headers"]["x-a"], answer["body_bytes"]) == ("c=d", "1", 2)
        chunked = await client.put(f"http://127.0.0.1:{ports[1]}/", content=in_chunks())
        assert chunked.json()["body_bytes"] == 5
        assert (await client.get(f"http://127.0.0.1:{ports[0]}/")).json()["service"] == "blue"


async def test_without_any_nothing_is_started() -> None:
    async with running_echoes([]):
        pass


async def test_a_taken_port_is_reported_with_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"can't listen on 127.0.0.1:{port} for blue") as rejected:
            async with running_echoes([Echo("blue", f"127.0.0.1:{port}")]):
                pass
    assert ANNOTATION in rejected.value.next_step
