"""Parameters that are made to take long, over real HTTP: each is answered or rejected, and none holds the loop.

The client sends URLs of 64 KiB at most; the server takes heads of 128 KiB.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

import httpx2
import msgspec
import pytest

from intentc.apiserver.kubernetes import options
from intentc.loading import load_schema
from intentc.model import Schema
from intentc.watch.memory import MemoryStore
from tests.support.api_server import served
from tests.support.loop_holds import LONGEST, measured_holds

pytestmark = [pytest.mark.anyio, pytest.mark.http]

MAPPINGS = "/apis/getambassador.io/v3alpha1/namespaces/shop/mappings"
NETWORKS = "/virtual-networks"
LARGE = 20_000
RESOURCES = 300
TEXTS = [
    " " * 60_000, "!" * LARGE, "," * LARGE, "a," * (LARGE // 2), "a in (" * (LARGE // 6), "a" + " " * LARGE + "b",
    "a in (" + "b," * (LARGE // 2) + ")", "! " * (LARGE // 2), "a=b," * (LARGE // 4), "a" * LARGE, "[" * LARGE,
    "9" * LARGE, "a==" + "[" * LARGE, "a==1," * (LARGE // 5), "a:" * (LARGE // 2), "\\" * LARGE,
]  # fmt: skip
"""Of many spaces, many of anything else, and many requirements."""
OF_LISTS = [
    "labelSelector",
    "fieldSelector",
    "continue",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
]
OF_REST = [
    "filters", "fields", "parent_id", "parent_type", "parent_fq_name_str", "back_ref_id", "obj_uuids", "page_limit",
    "page_marker", "count", "detail", "exclude_hrefs",
]  # fmt: skip


def token(revision: object, start: str = "/t/mapping/") -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode([revision, start])).decode()


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema("ambassador", "contrail")


@pytest.fixture
async def api(schema: Schema) -> AsyncIterator[httpx2.AsyncClient]:
    store = MemoryStore(max_txn_ops=1024)
    async with served(store, schema, "t") as client:
        yield client
    await store.close()


async def fill(client: httpx2.AsyncClient) -> None:
    """Let lists have something to look through."""
    names = [["shop", f"m{n}"] for n in range(RESOURCES)]
    items = [{"kind": "mapping", "data": {"fq_name": name, "prefix": "/", "service": "web"}} for name in names]
    networks = [["default-domain", "default-project", f"n{n}"] for n in range(RESOURCES)]
    items += [{"kind": "virtual_network", "data": {"fq_name": name, "display_name": "x" * 50}} for name in networks]
    for at in range(0, len(items), 30):
        answer = await client.post("/sync", json={"resources": items[at : at + 30]})
        assert answer.is_success, answer.text


async def test_no_parameter_holds_the_loop(api: httpx2.AsyncClient) -> None:
    await fill(api)
    for text in TEXTS:
        with measured_holds() as holds:
            for path, names in ((MAPPINGS, OF_LISTS), (NETWORKS, OF_REST)):
                for name in names:
                    holds.forget()
                    answer = await api.get(path, params={name: text})
                    assert answer.status_code < 500, (name, text[:12], answer.text)
                    assert holds.longest < LONGEST, (name, text[:12], holds.longest, holds.by)


async def test_a_name_in_a_url_has_a_length(api: httpx2.AsyncClient) -> None:
    for path in (f"{MAPPINGS}/{'m' * 254}", MAPPINGS.replace("shop", "s" * 254), f"/virtual-network/{'u' * 1_025}"):
        answer = await api.get(path)
        assert (answer.status_code, "characters" in answer.json()["message"]) == (400, True), answer.text


@pytest.mark.parametrize(
    ("parameter", "text", "words"),
    [
        ("labelSelector", "a" * (options.LONGEST + 1), "16,384 are the most"),
        ("fieldSelector", "a" * (options.LONGEST + 1), "16,384 are the most"),
        ("labelSelector", ",".join(f"k{n}=v" for n in range(options.MOST + 1)), "more than 50 requirements"),
        ("continue", token(10**30), "list again without it"),
        ("continue", token(-1), "list again without it"),
        ("continue", token("1"), "list again without it"),
        ("continue", token(1, "/t/mapping/" + "x" * 5_000), "list again without it"),
        ("continue", base64.urlsafe_b64encode(b"[" * 3_000).decode(), "list again without it"),
        ("continue", "é", "list again without it"),
    ],
)
async def test_a_selector_or_token_beyond_its_limit_is_rejected(
    api: httpx2.AsyncClient, parameter: str, text: str, words: str
) -> None:
    answer = await api.get(MAPPINGS, params={parameter: text})
    assert (answer.status_code, words in answer.json()["message"]) == (400, True), answer.text


@pytest.mark.parametrize(
    ("parameter", "text", "words"),
    [
        ("filters", "a==b," * 51, "50 are the most"),
        ("obj_uuids", "u," * 4_001, "4,000 are the most"),
        ("fields", "f," * 4_001, "4,000 are the most"),
    ],
)
async def test_a_list_of_more_values_than_fit_is_rejected(
    api: httpx2.AsyncClient, parameter: str, text: str, words: str
) -> None:
    answer = await api.get(NETWORKS, params={parameter: text})
    assert (answer.status_code, words in answer.json()["message"]) == (400, True), answer.text


async def test_spaces_around_the_parts_of_a_selector_mean_nothing(api: httpx2.AsyncClient) -> None:
    selector = "  a  =  b , c  in  ( d , e ) ,  ! f "
    assert options.selector(selector, "").labels == (
        options.Requirement("a", frozenset("b")),
        options.Requirement("c", frozenset("de")),
        options.Requirement("f", None, negated=True),
    )
    assert (await api.get(MAPPINGS, params={"labelSelector": selector})).status_code == 200
