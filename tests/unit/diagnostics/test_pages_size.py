"""How large a page gets, whatever the world is, and how the files beside the pages are served."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from intentc.diagnostics import pages
from intentc.diagnostics.app import diagnostics_app
from intentc.diagnostics.pages.assets import address
from tests.unit.diagnostics.answered import INGRESS, Answered, ObservedCompiler, line, resource, why_of

HTML = {"Accept": "text/html"}
LIMIT = 200_000
STATIC = Path(pages.__file__).parent / "static"
OBJECT = f"/pages/object?kind={INGRESS['kind']}&name={INGRESS['name']}"

NAMES = {
    "usual": "default-domain:a-project-of-somebody:a-network-with-a-name-as-people-give-them-{}",
    "long": "d:" + "x" * 5_000 + "{}",
    "hostile": "d:" + "\"'<&>" * 1_000 + "{}",
    "wide": "d:" + "\N{CJK UNIFIED IDEOGRAPH-4E00}" * 2_000 + "{}",
}


class Full(Answered):
    """Everything that a page lists, in great numbers, under one form of name."""

    def __init__(self, form: str) -> None:
        super().__init__()
        some = [{**resource("virtual_network", form.format(n)), "uuid": f"{n:036}"} for n in range(300)]
        text = form.format(0) * 3
        sources = [{**one, "revision": 10**9, "field": text} for one in some[:30]]
        reasons = [{"intent": one, "sources": sources} for one in some[:30]]
        lines = [
            line(n, intent=one, path=some[:20], objects=some[:50], at=1_790_000_000.0) for n, one in enumerate(some)
        ]
        problems = [{**one, "reason": "Some", "message": text, "source": ""} for one in some]
        self.listed = [
            {**some[n % 300], "revision": n, "role": "output", "ours": True, "state": "as desired", "problems": 3}
            for n in range(100_000)
        ]
        self.lines = lines
        self.reasons[INGRESS["kind"], INGRESS["name"]] = why_of(
            INGRESS,
            summary=text,
            owners=some,
            parts=[{"part": f"{text}[{n}]", "reasons": reasons, "reasons_total": 500} for n in range(100)],
            reads=[{**one, "revision": 1} for one in some],
            reads_total=100_000,
            evaluations=[
                {"intent": one, "status": "done", "revision": 1, "at": 1.0, "path": some[:20], "recorded_in": "journal"}
                for one in some
            ],
            problems=problems,
            waiting_for=[{"what": text, "resource": one, "command": text} for one in some],
            history=lines[:20],
            outputs=[{**one, "exists": True, "state": "as desired"} for one in some],
            outputs_total=100_000,
            missing=[{"relation": text, "target": text}] * 300,
            concerns=some,
        )
        self.compared = {
            "revision": 1,
            "actual": {text: [text] * 100},
            "desired": {text: [text] * 100},
            "differences": [{"field": text, "actual": [text] * 10, "desired": [text] * 10}] * 300,
        }
        nodes = [{"id": one["uuid"], **one, "role": "output", "depth": 1} for one in some[:200]]
        edges = [
            {"from": nodes[0]["id"], "to": node["id"], "relation": text, "made": True}
            for node in nodes
            for _ in range(5)
        ]
        self.around = {"center": nodes[0]["id"], "nodes": nodes, "edges": edges, "cut": True}
        edge = self.map["edges"][0]
        self.map |= {
            "edges": [{**edge, "kind": f"kind_number_{n}", "source": text} for n in range(1_000)],
            "findings": [{"severity": "note", "source": text, "reason": "R", "message": text}] * 1_000,
            "missing": [{"reader": f"kind_number_{n}", "read": "b", "count": 1} for n in range(1_000)],
            "last_error": text,
        }
        self.reported: dict[str, Any] = {
            "problems": problems,
            "pending_work": [text] * 100,
            "attention": [text] * 100,
        }
        self.quarantined = [{**one, "state": "held", "since": 1.0, "tries": 1} for one in problems]


class Troubled(ObservedCompiler):
    def __init__(self, reported: dict[str, Any]) -> None:
        super().__init__()
        self._status = reported

    def status(self) -> dict[str, Any]:
        return {**super().status(), **self._status}


@pytest.fixture(scope="module", params=NAMES)
def crowded(request: pytest.FixtureRequest) -> TestClient:
    asked = Full(NAMES[request.param])
    return TestClient(diagnostics_app(Troubled(asked.reported), reader=asked).app, headers=HTML)


@pytest.mark.parametrize(
    "path",
    ["/", "/pages/objects", "/pages/objects?offset=50000", OBJECT, "/pages/reactions", "/pages/quarantine",
     "/pages/journal"],
)  # fmt: skip
def test_a_page_is_small_whatever_it_shows(crowded: TestClient, path: str) -> None:
    answer = crowded.get(path)
    assert answer.status_code == 200
    assert len(answer.content) < LIMIT


def test_a_page_of_usual_names_needs_no_cut(crowded: TestClient) -> None:
    answer = crowded.get("/pages/objects")
    assert answer.text.count("<tr>") == 51


@pytest.fixture(scope="module")
def browser() -> TestClient:
    return TestClient(diagnostics_app(ObservedCompiler(), reader=Answered()).app, headers=HTML)


def test_files_may_be_kept_since_their_names_hold_their_hashes(browser: TestClient) -> None:
    answer = browser.get(address("cytoscape.min.js"))
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert hashlib.sha256(answer.content).hexdigest()[:16] in address("cytoscape.min.js")


def test_files_come_compressed_to_who_takes_that(browser: TestClient) -> None:
    path = address("cytoscape.min.js")
    with browser.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as compressed:
        content = b"".join(compressed.iter_raw())
    whole = browser.get(path, headers={"Accept-Encoding": "identity"})
    assert compressed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in whole.headers
    assert gzip.decompress(content) == whole.content
    assert len(content) < len(whole.content) / 2.5


@pytest.mark.parametrize("name", ["style.css", "../routes.py", "style.0000000000000000.css", "%2e%2e/routes.py"])
def test_nothing_else_is_served_beside_them(browser: TestClient, name: str) -> None:
    assert browser.get("/pages/static/" + name).status_code == 404


@pytest.mark.parametrize("script", sorted(path.name for path in STATIC.glob("*.js") if ".min." not in path.name))
def test_a_script_imports_what_is_served(browser: TestClient, script: str) -> None:
    text = browser.get(address(script)).text
    for imported in re.findall(r'from "\./([^"]+)"', text):
        assert browser.get("/pages/static/" + imported).status_code == 200


def test_the_library_is_the_one_that_the_notice_names() -> None:
    digest = hashlib.sha256((STATIC / "cytoscape.min.js").read_bytes()).hexdigest()
    assert digest in (STATIC / "NOTICE.txt").read_text()
    assert "MIT" in (STATIC / "NOTICE.txt").read_text()
    assert "Permission is hereby granted" in (STATIC / "cytoscape.LICENSE.txt").read_text()
