"""Which requests a server rejects for where they come from and what they carry, on headers alone."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from intentc.listening.origin import ANY_HOST, Checks, own_hosts

HOST = "127.0.0.1:8082"
API = Checks("server.hosts", own_hosts("127.0.0.1", is_loopback=True), only_json=True)
PAGES = API._replace(only_json=False, pages=True)
JSON = {"content-type": "application/json", "content-length": "2"}


def status(checks: Checks, method: str, **headers: str) -> int:
    """The status with which a request is rejected; 200 if it is not. ``_`` in a name stands for ``-``."""
    named = {name.replace("_", "-"): value for name, value in {"host": HOST, **headers}.items()}
    rejection = checks.rejection(method, "/projects", Headers(named))
    if rejection is not None:
        assert rejection.problem and rejection.advice
    return 200 if rejection is None else rejection.status


@pytest.mark.parametrize(
    "host", [HOST, "localhost", "LOCALHOST:1", "localhost.:80", "LocalHost.", "[::1]:8082", "[0:0::1]", "127.0.0.1"]
)
def test_on_loopback_its_own_names_are_answered(host: str) -> None:
    assert status(API, "GET", host=host) == 200


@pytest.mark.parametrize(
    "host",
    ["rebound.example:8082", "", ".", "localhost..", "[::1", "127.0.0.1.rebound.example", "[::2]", "localhost@x", "*"],
)
def test_on_loopback_other_names_are_not(host: str) -> None:
    assert status(API, "GET", host=host) == 400


def test_a_server_beyond_loopback_answers_to_any_name() -> None:
    assert own_hosts("0.0.0.0", ["api.example"], is_loopback=False) is ANY_HOST
    assert status(Checks("server.hosts"), "GET", host="elsewhere.example") == 200
    assert status(API._replace(hosts=own_hosts("127.0.0.2", is_loopback=True)), "GET", host="127.0.0.2:1") == 200


@pytest.mark.parametrize(
    ("host", "answered"), [("api.example", 200), ("API.Example.:443", 200), ("x.api.example", 400)]
)
def test_named_hosts_are_answered_besides_its_own(host: str, answered: int) -> None:
    checks = API._replace(hosts=own_hosts("127.0.0.1", ["api.example"], is_loopback=True))
    assert status(checks, "GET", host=host) == answered
    assert status(checks, "GET", host="localhost") == 200


def test_no_name_means_any_host_by_accident() -> None:
    checks = API._replace(hosts=own_hosts("127.0.0.1", ["*"], is_loopback=True))
    assert status(checks, "GET", host="rebound.example") == 400


def test_probes_need_no_host_and_a_foreign_one_is_rejected_there_too() -> None:
    for path in ("/healthz", "/readyz"):
        assert API.rejection("GET", path, Headers({})) is None
        rejection = API.rejection("GET", path, Headers({"host": "rebound.example"}))
        assert rejection is not None and rejection.status == 400 and "server.hosts" in rejection.advice
    assert API.rejection("GET", "/projects", Headers({})) is not None


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:3000", "http://localhost:8082", ""]
)
def test_a_page_of_another_origin_is_rejected(method: str, origin: str) -> None:
    assert status(API, method, origin=origin, **JSON) == 403
    assert status(Checks("server.hosts"), method, origin=origin) == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "new-word"])
def test_what_a_browser_sends_for_another_site_is_rejected(site: str) -> None:
    assert status(API, "GET", sec_fetch_site=site) == 403
    assert status(API, "GET", sec_fetch_site=site, sec_fetch_mode="navigate") == 403
    assert status(PAGES, "GET", sec_fetch_site=site, sec_fetch_mode="no-cors") == 403


def test_a_link_on_another_site_leads_to_pages() -> None:
    assert status(PAGES, "GET", sec_fetch_site="cross-site", sec_fetch_mode="navigate") == 200
    assert status(PAGES, "POST", sec_fetch_site="cross-site", sec_fetch_mode="navigate") == 403


@pytest.mark.parametrize("site", ["none", "same-origin"])
def test_what_a_person_types_and_own_pages_are_answered(site: str) -> None:
    assert status(API, "GET", sec_fetch_site=site, origin=f"http://{HOST}") == 200


@pytest.mark.parametrize(
    "written", ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="UTF-8"']
)
def test_json_is_taken(written: str) -> None:
    assert status(API, "POST", content_type=written, content_length="2") == 200


@pytest.mark.parametrize(
    "written", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonx", "x"]
)
def test_other_bodies_are_not(written: str) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert status(API, method, content_type=written, content_length="2") == 415
        assert status(API, method, content_type=written, transfer_encoding="chunked") == 415


def test_a_body_needs_a_type_and_no_body_needs_none() -> None:
    assert status(API, "POST", content_length="2") == 415
    assert status(API, "POST") == 415  # a page can send this one without being asked first
    assert status(API, "DELETE") == 200
    assert status(API, "DELETE", content_length="0") == 200
    assert status(API, "GET", content_type="text/plain") == 200
