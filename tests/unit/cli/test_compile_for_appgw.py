"""``compile -o appgw`` prints the document of an Application Gateway, the same bytes for the same input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from intentc.cli.azure_output import difference
from tests.support.appgw.manifests import Manifest, endpoint_slice, ingress, rule, service
from tests.support.appgw.random_worlds import gateway
from tests.support.golden.compiling import compiled

SAMPLE = Path(__file__).resolve().parents[3] / "sample" / "appgw"
CONFIGURED = ("--config-file", str(SAMPLE.with_suffix(".yml")))
ROOT = ("/", "Prefix", "cart")


def file(folder: Path, *manifests: Manifest) -> Path:
    path = folder / "world.yml"
    path.write_text(yaml.safe_dump_all(manifests))
    return path


def document(out: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out)
    return {**found["properties"], "whole": found}


def test_the_sample_is_a_document() -> None:
    ended = compiled("appgw", SAMPLE, output="appgw", options=CONFIGURED)
    assert ended.code == 0
    found = document(ended.out)
    assert [one["properties"]["hostNames"] for one in found["httpListeners"]] == [["shop.example"]]
    assert "there is no Secret shop:account; create it" in ended.err
    assert found["whole"]["id"].endswith("/Microsoft.Network/applicationGateways/shop-gateway")


def test_it_assumes_an_empty_gateway_and_ignores_the_order_of_files(tmp_path: Path) -> None:
    given = [service("cart"), endpoint_slice("cart", "10.0.0.1"), ingress("web", rule("a.test", ROOT))]
    one = compiled("appgw", file(tmp_path, *given), output="appgw")
    other = compiled("appgw", file(tmp_path, *given[::-1]), output="appgw")
    assert (one.code, one.err) == (0, "")
    assert one.out == other.out
    assert document(one.out)["requestRoutingRules"][0]["properties"]["priority"] == 19000


def test_the_gateway_of_a_file_keeps_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "gateway.json").write_text(json.dumps(gateway()))
    options = ("--gateway", str(tmp_path / "gateway.json"))
    ended = compiled("appgw", file(tmp_path, service("cart")), output="appgw", options=options)
    found = document(ended.out)
    assert found["whole"]["location"] == "north"
    assert found["whole"]["tags"] == {"managed-by-k8s-ingress": "intentc", "team": "net"}
    assert found["membersOfLaterVersions"] == {"some": [1, {"thing": "else"}]}
    assert [one["name"] for one in found["sslCertificates"]] == ["own"]
    assert [one["name"] for one in found["frontendPorts"]] == ["web"]


def test_the_difference_from_a_gateway_names_its_parts(tmp_path: Path) -> None:
    """So a gateway that another controller filled can be compared before intentc takes it over."""
    given = [service("cart"), endpoint_slice("cart", "10.0.0.1"), ingress("web", rule("a.test", ROOT))]
    there = compiled("appgw", file(tmp_path, *given), output="appgw").out
    (tmp_path / "gateway.json").write_text(there)
    options = ("--gateway", str(tmp_path / "gateway.json"), "--difference")
    same = compiled("appgw", file(tmp_path, *given), output="appgw", options=options)
    assert same.out == "No difference: the gateway stays as it is.\n"
    given[1] = endpoint_slice("cart", "10.0.0.2")
    scaled = compiled("appgw", file(tmp_path, *given), output="appgw", options=options)
    assert scaled.out == "~ backendAddressPools/pool-shop-cart-80-bp-8080\n"


def test_what_is_not_in_a_list_is_changed_and_not_new() -> None:
    former, sent = ({"tags": {"team": team}, "properties": {"sku": {"capacity": 2}}} for team in ("net", "web"))
    assert difference(former, sent) == ["~ tags"]


def test_the_difference_needs_a_gateway(tmp_path: Path) -> None:
    ended = compiled("appgw", file(tmp_path, service("cart")), output="appgw", options=("--difference",))
    assert (ended.code, "--difference needs --gateway" in ended.err) == (2, True)


def test_the_oldest_ingress_has_precedence(tmp_path: Path) -> None:
    old, new = (
        ingress(name, rule("a.test", ("/a", "Exact", "cart")), created=created)
        for name, created in (("z", "2026-01-01T00:00:00Z"), ("a", "2026-01-02T00:00:00Z"))
    )
    ended = compiled(
        "appgw", file(tmp_path, service("cart"), endpoint_slice("cart", "10.0.0.1"), new, old), output="appgw"
    )
    (path_map,) = document(ended.out)["urlPathMaps"]
    assert [one["name"] for one in path_map["properties"]["pathRules"]] == ["pr-shop-z-rule-0-path-0"]
    assert "is Ingress shop:z's, which has precedence" in ended.err


def test_a_compiler_that_makes_nothing_for_it_says_so(tmp_path: Path) -> None:
    path = tmp_path / "farm.yml"
    path.write_text("{kind: project, data: {fq_name: [default-domain, b]}}")
    ended = compiled("contrail", path, output="appgw")
    assert ended.code == 2
    assert "these compilers make nothing for an Application Gateway" in ended.err


def test_a_view_is_no_document(tmp_path: Path) -> None:
    ended = compiled("appgw", file(tmp_path, service("cart")), output="appgw", options=("--view", "problems"))
    assert ended.code == 2
    assert "--view and -o appgw exclude each other" in ended.err


def test_a_gateway_that_is_none_is_an_error_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "gateway.json").write_text("[]")
    options = ("--gateway", str(tmp_path / "gateway.json"))
    ended = compiled("appgw", file(tmp_path, service("cart")), output="appgw", options=options)
    assert ended.code == 3
    assert "it is not an Application Gateway" in ended.err
    assert "gateway.json" in ended.err
