"""Mappings that match the same share one route (docs/ambassador.md §4.4, §5.1, §5.5, §5.6, §5.8)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.hosts import host
from tests.support.ambassador.mappings import mapping, routes, upstreams

pytestmark = pytest.mark.anyio


def canary(name: str, service: str, **spec: Any) -> dict[str, Any]:
    return mapping(name, **{"prefix": "/app/", "service": service, **spec})


async def test_a_canary_gets_its_percents_and_the_rest_goes_on() -> None:
    found = await routes(canary("stable", "one"), canary("canary", "two", weight=10))
    assert upstreams(found.only) == {"cluster_one_80": 90, "cluster_two_80": 10}


async def test_weights_that_sum_to_less_than_100_leave_no_request_behind() -> None:
    """Defect 5: with 20 and 30 the peer answers half of the requests 404."""
    found = await routes(canary("a", "one", weight=20), canary("b", "two", weight=30))
    assert upstreams(found.only) == {"cluster_one_80": 20, "cluster_two_80": 30}
    assert "runtime_fraction" not in found.only["match"]


async def test_one_that_takes_the_sum_over_100_is_left_out_and_reported_itself() -> None:
    found = await routes(canary("a", "one", weight=70), canary("b", "two", weight=70), canary("c", "three"))
    assert upstreams(found.only) == {"cluster_one_80": 70, "cluster_three_80": 30}
    assert found.problems() == [("shop:b", "WeightOver100")]


async def test_a_member_without_a_share_is_reported() -> None:
    found = await routes(canary("a", "one", weight=100), canary("b", "two"))
    assert upstreams(found.only) == {"cluster_one_80": 100, "cluster_two_80": 0}
    assert found.problems() == [("shop:b", "NoRequests")]


async def test_where_all_have_the_weight_0_they_share_equally_and_are_reported() -> None:
    found = await routes(canary("a", "one", weight=0), canary("b", "two", weight=0))
    assert upstreams(found.only) == {"cluster_one_80": 1, "cluster_two_80": 1}
    assert found.problems() == [("shop:a", "NoWeight"), ("shop:b", "NoWeight")]


async def test_a_mapping_that_is_alone_gets_everything() -> None:
    found = await routes(canary("a", "one", weight=0))
    assert upstreams(found.only) == {"cluster_one_80": 100}
    assert found.problems() == []


async def test_names_with_dots_and_equal_names_in_two_namespaces_are_different_mappings() -> None:
    """Defect 1: of app.v1 and app.v2 the peer drops one."""
    found = await routes(
        canary("app.v1", "one.shop"), canary("app.v2", "two.shop"), canary("app.v1", "three.shop", namespace="other")
    )
    assert upstreams(found.only) == {
        "cluster_one_shop_80": 100,
        "cluster_two_shop_80": 100,
        "cluster_three_shop_80": 100,
    }


async def test_services_whose_names_look_alike_are_different_upstreams() -> None:
    """Defect 6: svc.name and svc_name shared one cluster."""
    found = await routes(canary("a", "svc.name"), canary("b", "svc_name"))
    names = [each["name"] for each in found.only["route"]["weighted_clusters"]["clusters"]]
    assert len(set(names)) == 2


async def test_the_same_service_named_twice_gets_both_shares() -> None:
    found = await routes(canary("a", "one", weight=20), canary("b", "one", weight=30), canary("c", "two", weight=50))
    assert upstreams(found.only) == {"cluster_one_80": 50, "cluster_two_80": 50}


async def test_the_same_service_with_other_cluster_settings_is_another_upstream() -> None:
    found = await routes(canary("a", "one"), canary("b", "one", connect_timeout_ms=500))
    assert len(found.only["route"]["weighted_clusters"]["clusters"]) == 2


async def test_headers_belong_to_the_cluster_where_members_differ() -> None:
    found = await routes(
        canary("a", "one", add_request_headers={"x-from": "a"}), canary("b", "two", remove_response_headers=["server"])
    )
    first, second = found.only["route"]["weighted_clusters"]["clusters"]
    assert first["request_headers_to_add"][0]["header"] == {"key": "x-from", "value": "a"}
    assert second["response_headers_to_remove"] == ["server"]
    assert "request_headers_to_add" not in found.only


async def test_rewrites_that_differ_make_a_route_for_each_and_keep_the_shares() -> None:
    found = await routes(
        canary("a", "one", weight=20),
        canary("b", "two", weight=30, rewrite="/v2/"),
        canary("c", "three", weight=30, timeout_ms=9000),
    )
    fractions = [config["match"].get("runtime_fraction", {}).get("default_value") for config in found.configs]
    assert fractions == [
        {"numerator": 2500, "denominator": "TEN_THOUSAND"},
        {"numerator": 6250, "denominator": "TEN_THOUSAND"},
        None,
    ]
    assert [config["route"]["prefix_rewrite"] for config in found.configs] == ["/", "/v2/", "/"]
    assert len({config["name"] for config in found.configs}) == 3
    assert found.problems() == []


@pytest.mark.parametrize(
    "spec",
    [
        {"bypass_auth": True},
        {"auth_context_extensions": {"a": "b"}},
        {"load_balancer": {"policy": "ring_hash", "source_ip": True}, "resolver": "endpoint"},
    ],
)
async def test_one_that_differs_in_what_the_first_fixes_is_rejected_with_a_problem_on_itself(spec: Any) -> None:
    found = await routes(canary("a", "one"), canary("b", "two", **spec))
    assert upstreams(found.only) == {"cluster_one_80": 100}
    assert found.problems() == [("shop:b", "DiffersFromGroup")]
    assert "shop:a matches the same" in found.message()


async def test_a_host_that_selects_one_of_two_does_not_take_the_other_its_share_elsewhere() -> None:
    labelled = canary("labelled", "one", weight=10)
    labelled["metadata"]["labels"] = {"team": "a"}
    selecting = host("chosen", "a.example", "shop", mappingSelector={"matchLabels": {"team": "a"}})
    found = await routes(selecting, labelled, canary("other", "two"))
    shares = {tuple(element["tables"]): upstreams(element["config"]) for element in found.elements}
    assert shares == {
        ("shop:chosen|*",): {"cluster_one_80": 100},
        ("|*",): {"cluster_one_80": 10, "cluster_two_80": 90},
    }


async def test_one_without_hostname_that_is_selected_shares_with_one_for_every_hostname() -> None:
    without, every = canary("a", "one", hostname=None, weight=20), canary("b", "two")
    for labelled in (without, every):
        labelled["metadata"]["labels"] = {"team": "a"}
    selecting = host("chosen", "a.example", "shop", mappingSelector={"matchLabels": {"team": "a"}})
    found = await routes(selecting, without, every)
    shares = {tuple(element["tables"]): upstreams(element["config"]) for element in found.elements}
    assert shares == {
        ("shop:chosen|*",): {"cluster_one_80": 20, "cluster_two_80": 80},
        ("|*",): {"cluster_two_80": 100},
    }


async def test_a_route_comes_from_those_who_share_in_it() -> None:
    found = await routes(canary("a", "one"), canary("b", "two", bypass_auth=True), canary("c", "three"))
    (element,) = found.elements
    assert [origin["name"] for origin in element["origins"]] == ["shop:a", "shop:c"]


async def test_redirects_and_others_do_not_mix_and_the_later_one_is_reported() -> None:
    found = await routes(canary("a", "one"), canary("b", "new.example", host_redirect=True))
    assert upstreams(found.only) == {"cluster_one_80": 100}
    assert found.problems() == [("shop:b", "DiffersFromGroup")]


async def test_the_first_of_two_redirects_counts() -> None:
    found = await routes(
        canary("a", "new.example", host_redirect=True), canary("b", "other.example", host_redirect=True)
    )
    assert found.only["redirect"]["host_redirect"] == "new.example"
    assert found.problems() == [("shop:b", "GroupRedirects")]


async def test_a_shadow_gets_copies_of_a_part_of_the_requests() -> None:
    found = await routes(canary("a", "one"), canary("dark", "two", shadow=True, weight=25))
    assert upstreams(found.only) == {"cluster_one_80": 100}
    (mirror,) = found.only["route"]["request_mirror_policies"]
    assert mirror["cluster"].startswith("cluster_shadow_two_80-")
    assert mirror["runtime_fraction"] == {"default_value": {"numerator": 25}}
    assert found.elements[0]["clusters"] == sorted([mirror["cluster"], found.only["route"]["cluster"]])


async def test_a_second_shadow_is_reported() -> None:
    found = await routes(canary("a", "one"), canary("x", "two", shadow=True), canary("y", "three", shadow=True))
    assert found.problems() == [("shop:y", "SecondShadow")]


async def test_a_shadow_of_nothing_is_reported_and_makes_no_route() -> None:
    found = await routes(canary("x", "two", shadow=True))
    assert found.elements == []
    assert found.problems() == [("shop:x", "NothingToShadow")]


async def test_if_nobody_can_be_served_requests_are_rejected_and_do_not_fall_to_a_wider_route() -> None:
    found = await routes(canary("a", "http://one/path"), mapping("wide", prefix="/"))
    rejecting, wide = found.configs
    assert rejecting["match"] == {"prefix": "/app/"}
    assert rejecting["direct_response"] == {"status": 503}
    assert "route" in wide
    assert found.problems() == [("shop:a", "InvalidService")]


async def test_one_that_can_not_be_served_leaves_its_share_to_the_others() -> None:
    found = await routes(canary("a", "http://one/path"), canary("b", "two"))
    assert upstreams(found.only) == {"cluster_two_80": 100}
    assert found.problems() == [("shop:a", "InvalidService")]


async def test_a_route_goes_with_its_last_mapping_and_its_problems_with_their_causes() -> None:
    """Defect 3 the other way round: a problem stays while its cause does, and goes with it."""
    found = await routes(canary("a", "one", weight=60), canary("b", "two", weight=60), mapping("unrelated"))
    await found.gate.service.update(mapping("unrelated", timeout_ms=1))
    assert found.problems() == [("shop:b", "WeightOver100")]
    await found.gate.service.delete(canary("a", "one"))
    assert upstreams(found.configs[-1]) == {"cluster_two_80": 100}
    assert found.problems() == []
    await found.gate.service.delete(canary("b", "two"))
    assert found.paths == ["/unrelated/"]
