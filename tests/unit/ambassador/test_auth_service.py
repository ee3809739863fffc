"""Which service authorizes requests, and what happens if it can't be asked (docs/ambassador.md §4.3, §4.5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.hosts import MemoryGateway, manifest
from tests.support.ambassador.services import auth, clusters, filters, gateway, guards, module, script

pytestmark = pytest.mark.anyio


def authorization(gate: MemoryGateway) -> dict[str, Any]:
    return filters(gate)["envoy.filters.http.ext_authz"]


def names(patterns: dict[str, Any]) -> set[str]:
    assert all(one["ignore_case"] for one in patterns["patterns"])
    return {one["exact"] for one in patterns["patterns"]}


async def test_requests_are_checked_over_http_by_default() -> None:
    gate = await gateway(auth(path_prefix="/check", timeout_ms=1500))
    service = authorization(gate)["http_service"]
    assert service["path_prefix"] == "/check"
    assert service["server_uri"]["timeout"] == "1.500s"
    assert [service["server_uri"]["cluster"]] == list(gate.elements("envoy_cluster"))
    assert clusters(gate) == ["cluster_extauth_auth_3000"]
    assert gate.problems() == []


async def test_a_request_is_rejected_while_the_service_is_out_of_reach_unless_it_says_otherwise() -> None:
    assert authorization(await gateway(auth()))["failure_mode_allow"] is False
    assert authorization(await gateway(auth(failure_mode_allow=True)))["failure_mode_allow"] is True


async def test_headers_go_to_the_service_and_back_by_lists() -> None:
    gate = await gateway(
        auth(
            allowed_request_headers=["X-Tenant"], allowed_authorization_headers=["X-User"], add_auth_headers={"a": "b"}
        )
    )
    config = authorization(gate)
    assert {"x-tenant", "authorization", "cookie"} <= names(config["allowed_headers"])
    response = config["http_service"]["authorization_response"]
    assert {"x-user", "location", "set-cookie"} <= names(response["allowed_upstream_headers"])
    assert response["allowed_client_headers"] == response["allowed_upstream_headers"]
    assert config["http_service"]["authorization_request"] == {"headers_to_add": [{"key": "a", "value": "b"}]}


async def test_no_field_is_used_that_envoy_has_deprecated() -> None:
    gate = await gateway(auth(allowed_request_headers=["x"]))
    assert "authorization_request" not in authorization(gate)["http_service"]


async def test_over_grpc_the_service_sees_the_whole_request() -> None:
    gate = await gateway(auth(proto="grpc", protocol_version="v3"))
    config = authorization(gate)
    assert list(config["grpc_service"]["envoy_grpc"].values()) == list(gate.elements("envoy_cluster"))
    assert config["transport_api_version"] == "V3"
    assert "allowed_headers" not in config


@pytest.mark.parametrize(
    ("spec", "sent"),
    [
        ({}, None),
        ({"allow_request_body": True}, {"max_request_bytes": 4096, "allow_partial_message": True}),
        ({"include_body": {"max_bytes": 9}}, {"max_request_bytes": 9, "allow_partial_message": False}),
    ],
)
async def test_the_body_goes_along_if_it_is_asked_for(spec: dict[str, Any], sent: dict[str, Any] | None) -> None:
    assert authorization(await gateway(auth(**spec))).get("with_request_body") == sent


async def test_a_status_that_envoy_does_not_know_is_left_out_and_reported() -> None:
    assert authorization(await gateway(auth(status_on_error={"code": 503})))["status_on_error"] == {"code": 503}
    gate = await gateway(auth(status_on_error={"code": 599}))
    assert "status_on_error" not in authorization(gate)
    assert gate.problems() == [("auth_service", "gate:auth", "InvalidStatus")]


WRONG = [
    ({"proto": "grpc"}, "UnsupportedProtocol"),
    ({"proto": "grpc", "protocol_version": "v2"}, "UnsupportedProtocol"),
    ({"auth_service": "http://auth/path"}, "InvalidService"),
    ({"path_prefix": "check"}, "InvalidPath"),
    ({"include_body": {"allow_partial": True}}, "InvalidBody"),
    ({"add_auth_headers": {"a": "b\nc"}}, "InvalidHeader"),
    ({"tls": ["a"]}, "InvalidTLS"),
    ({"circuit_breakers": [{}, {}]}, "InvalidSetting"),
]


@pytest.mark.parametrize(("spec", "reason"), WRONG, ids=lambda part: str(part))
async def test_one_that_can_not_be_asked_lets_nobody_in(spec: dict[str, Any], reason: str) -> None:
    gate = await gateway(auth(**spec))
    assert guards(gate) == ["cors", "misconfigured_auth_service"]
    assert '[":status"] = "500"' in script(filters(gate)["misconfigured_auth_service"])
    assert gate.problems() == [("auth_service", "gate:auth", reason)]


async def test_it_lets_requests_pass_again_once_it_is_repaired() -> None:
    gate = await gateway(auth(path_prefix="check"))
    await gate.service.update(auth(path_prefix="/check"))
    assert guards(gate) == ["cors", "ext_authz"]
    assert gate.problems() == []


async def test_the_probes_of_services_stay_open_while_nobody_is_let_in() -> None:
    gate = await gateway(auth(path_prefix="check"), module(liveness_probe={"service": "a", "prefix": '/x"y'}))
    assert 'local open = {["/x\\034y"] = true}' in script(filters(gate)["misconfigured_auth_service"])


async def test_several_that_agree_stand_in_for_each_other() -> None:
    gate = await gateway(auth("a", auth_service="one"), auth("b", auth_service="two", stats_name="two"))
    joined = authorization(gate)["http_service"]["server_uri"]["cluster"]
    element = gate.elements("envoy_cluster")[joined]
    members = element["config"]["cluster_type"]["typed_config"]["clusters"]
    assert [name.rpartition("-")[0] for name in members] == ["cluster_extauth_one_80", "cluster_extauth_two_80"]
    assert set(members) | {joined} == set(gate.elements("envoy_cluster"))
    assert [one["name"] for one in element["origins"]] == ["gate:a", "gate:b"]
    assert gate.problems() == []


async def test_several_that_ask_the_same_service_share_its_cluster() -> None:
    gate = await gateway(auth("a"), auth("b"))
    assert clusters(gate) == ["cluster_extauth_auth_3000"]
    assert gate.problems() == []


async def test_one_that_differs_from_the_first_is_rejected() -> None:
    own = [
        {**one, "metadata": {**one["metadata"], "namespace": "default"}} for one in (auth("a"), auth("b", timeout_ms=1))
    ]
    gate = await gateway(*own)
    assert clusters(gate) == ["cluster_extauth_auth_3000"]
    assert gate.problems() == [("auth_service", "default:b", "DifferentAuthService")]


async def test_a_second_one_that_is_wrong_changes_nothing_for_the_first() -> None:
    a = manifest("AuthService", "a", {"auth_service": "auth:3000"}, "default")
    gate = await gateway(a, auth("b", path_prefix="check"))
    assert guards(gate) == ["cors", "ext_authz"]
    assert gate.problems() == [("auth_service", "gate:b", "InvalidPath")]


async def test_one_of_another_gateway_guards_nothing_here() -> None:
    theirs = manifest("AuthService", "theirs", {"auth_service": "auth", "ambassador_id": ["b"]})
    assert guards(await gateway(theirs)) == ["cors"]


async def test_what_grpc_does_not_know_is_reported() -> None:
    gate = await gateway(auth(proto="grpc", protocol_version="v3", path_prefix="/x"))
    assert gate.problems() == [("auth_service", "gate:auth", "NoEffect")]


async def test_the_linkerd_header_names_the_service_if_the_module_says_so() -> None:
    gate = await gateway(auth(), module(add_linkerd_headers=True))
    request = authorization(gate)["http_service"]["authorization_request"]
    assert request["headers_to_add"] == [{"key": "l5d-dst-override", "value": "auth:3000"}]


@pytest.mark.parametrize("says", [{}, {"add_linkerd_headers": True}], ids=str)
async def test_the_linkerd_header_names_the_service_with_two_that_join(says: dict[str, bool]) -> None:
    gate = await gateway(auth("a"), auth("b", auth_service="other:3000", **says), module(add_linkerd_headers=not says))
    request = authorization(gate)["http_service"]["authorization_request"]
    value = "other:3000" if says else "auth:3000"
    assert request["headers_to_add"] == [{"key": "l5d-dst-override", "value": value}]
    assert gate.problems() == []


async def test_the_answer_of_a_misconfigured_one_names_the_request() -> None:
    gate = await gateway(auth(auth_service="a b"))
    assert '"request_id": "\' .. id .. \'"' in script(filters(gate)["misconfigured_auth_service"])


async def test_nothing_is_left_when_it_goes() -> None:
    gate = await gateway(auth())
    await gate.service.delete(auth())
    assert guards(gate) == ["cors"]
    assert gate.elements("envoy_cluster") == {}


async def test_one_that_could_not_even_be_compiled_lets_nobody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("intentc.compilers.ambassador.auth_service.read_auth", broken)
    gate = await gateway(auth())
    assert guards(gate) == ["cors", "misconfigured_auth_service"]
    assert gate.problems() == [("auth_service", "gate:auth", "EvaluationFailed")]


@pytest.mark.parametrize("headers", [{"host": "x"}, {":path": "x"}, {"a\n": "x"}, {"a": "x\n"}, {"a": "%NO%"}], ids=str)
async def test_a_header_that_envoy_does_not_let_be_added_closes(headers: dict[str, str]) -> None:
    gate = await gateway(auth(add_auth_headers=headers))
    assert gate.problems() == [("auth_service", "gate:auth", "InvalidHeader")]
    assert "envoy.filters.http.ext_authz" not in filters(gate)
