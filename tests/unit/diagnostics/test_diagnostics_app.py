"""What the diagnostics answer, over a real socket."""

from __future__ import annotations

import anyio
import httpx2
import pytest
from starlette.routing import Route

from intentc.diagnostics.app import HEADERS, diagnostics_app
from intentc.diagnostics.serving import AddressInUse, running_diagnostics
from tests.support.waiting import PATIENCE
from tests.unit.diagnostics.answered import Answered, ObservedCompiler

pytestmark = pytest.mark.anyio


async def answer(compiler: ObservedCompiler, path: str, **headers: str) -> httpx2.Response:
    async with (
        running_diagnostics(compiler, "127.0.0.1", 0) as url,
        httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http,
    ):
        return await http.get(url + path, headers=headers)


async def test_a_living_compiler_is_healthy() -> None:
    found = await answer(ObservedCompiler(), "/healthz")
    assert (found.status_code, found.json()) == (200, {"ok": True, "reasons": []})


async def test_a_broken_compiler_is_not_healthy() -> None:
    compiler = ObservedCompiler()
    compiler.alive = False
    assert (await answer(compiler, "/healthz")).status_code == 503


async def test_not_ready_says_why() -> None:
    compiler = ObservedCompiler()
    compiler.reasons = ("first list not applied",)
    found = await answer(compiler, "/readyz")
    assert (found.status_code, found.json()["reasons"]) == (503, ["first list not applied"])


async def test_an_unknown_path_is_reported_as_json_with_what_to_do_next() -> None:
    found = await answer(ObservedCompiler(), "/nonsense")
    assert found.status_code == 404
    assert found.json() == {
        "error": "there is nothing at '/nonsense'",
        "next_step": "`/` lists the paths",
        "candidates": [],
    }
    assert HEADERS.items() <= dict(found.headers).items() | {(name, found.headers[name]) for name in HEADERS}


async def test_status_is_json() -> None:
    assert (await answer(ObservedCompiler(), "/status")).json()["applied_revision"] == 42


async def test_the_root_lists_every_path_with_a_line() -> None:
    compiler = ObservedCompiler()
    paths = (await answer(compiler, "/")).json()["paths"]
    assert sorted(paths) == ["/events", "/healthz", "/metrics", "/pending", "/quarantine", "/readyz", "/status"]
    assert all(paths.values())
    for path in paths.keys() - {"/events"}:
        assert (await answer(compiler, path)).status_code == 200


async def test_json_is_indented_for_who_asks() -> None:
    plain, pretty = [await answer(ObservedCompiler(), path) for path in ("/status", "/status?pretty")]
    assert plain.json() == pretty.json()
    assert b"\n" not in plain.content
    assert b'\n  "converged": true' in pretty.content


async def test_metrics_show_the_status() -> None:
    text = (await answer(ObservedCompiler(), "/metrics")).text
    for line in (
        "intentc_converged 1.0",
        "intentc_healthy 0.0",
        "intentc_ready 1.0",
        "intentc_applied_revision 42.0",
        'intentc_queue_depth{queue="jobs"} 3.0',
        'intentc_intents{state="held"} 1.0',
        "intentc_evaluations_total 5.0",
        'intentc_missing_reactions_total{pair="a <- b"} 1.0',
        "process_resident_memory_bytes ",
    ):
        assert f"\n{line}" in text


@pytest.mark.parametrize("path", ["/", "/healthz", "/status", "/metrics", "/nowhere"])
async def test_every_answer_carries_the_strict_headers(path: str) -> None:
    found = await answer(ObservedCompiler(), path)
    assert {name: found.headers[name] for name in HEADERS} == HEADERS
    assert "server" not in found.headers


async def test_a_foreign_host_name_is_not_answered_on_loopback() -> None:
    assert (await answer(ObservedCompiler(), "/status", host="rebound.example")).status_code == 400


async def test_hosts_that_are_named_are_answered_on_loopback() -> None:
    async with (
        running_diagnostics(ObservedCompiler(), "127.0.0.1", 0, hosts=["intentc.example.org"]) as url,
        httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http,
    ):
        assert (await http.get(url + "/status", headers={"host": "Intentc.example.org:443"})).status_code == 200
        foreign = await http.get(url + "/status", headers={"host": "rebound.example"})
    assert foreign.status_code == 400
    assert "intentc.diagnostics.hosts" in foreign.json()["next_step"]


@pytest.mark.parametrize(("path", "status"), [("/healthz", b"200"), ("/readyz", b"200"), ("/status", b"400")])
async def test_probes_are_answered_without_a_host(path: str, status: bytes) -> None:
    """As load balancers send them, in HTTP/1.0."""
    async with running_diagnostics(ObservedCompiler(), "127.0.0.1", 0) as url:
        with anyio.fail_after(PATIENCE):
            async with await anyio.connect_tcp("127.0.0.1", int(url.rpartition(":")[2])) as stream:
                await stream.send(f"GET {path} HTTP/1.0\r\n\r\n".encode())
                assert (await stream.receive()).split()[1] == status


async def test_nothing_can_be_changed() -> None:
    async with (
        running_diagnostics(ObservedCompiler(), "127.0.0.1", 0) as url,
        httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http,
    ):
        assert (await http.post(url + "/status")).status_code == 405


async def test_an_address_in_use_is_named() -> None:
    async with running_diagnostics(ObservedCompiler(), "127.0.0.1", 0) as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(AddressInUse, match=r"is in use; set intentc\.diagnostics\.address"):
            async with running_diagnostics(ObservedCompiler(), "127.0.0.1", port):
                pass


async def test_references_that_wait_for_their_target_are_reported() -> None:
    reported = await answer(ObservedCompiler(), "/pending")
    assert reported.json() == {
        "total": 1,
        "offset": 0,
        "limit": 100,
        "pending_references": [{"holder": "route/1", "relation": "gateway", "target": "gateway g"}],
    }


async def test_a_double_slash_never_redirects_to_another_host() -> None:
    found = await answer(ObservedCompiler(), "/status/", host="localhost:99")
    assert found.status_code == 404
    assert "location" not in found.headers


def test_every_path_has_one_route() -> None:
    routes = diagnostics_app(ObservedCompiler(), reader=Answered()).app.routes
    paths = [route.path for route in routes if isinstance(route, Route)]
    assert sorted(paths) == sorted(set(paths))
