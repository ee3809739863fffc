"""``get``: every spelling of a kind, every way to name a resource, every format."""

from __future__ import annotations

import json

import pytest

from intentc.loading.yaml import load_yaml
from tests.unit.cli.ordering_etcd import OrderingEtcd
from tests.unit.cli.running import Intentc
from tests.unit.cli.toy_api_server import ToyApiServer


@pytest.fixture
def networks(connected: ToyApiServer) -> ToyApiServer:
    connected.put("virtual-network", "d", "p", "red")
    connected.put("virtual-network", "d", "p", "blue")
    connected.put("virtual-network", "d", "q", "blue")
    return connected


@pytest.mark.parametrize("kind", ["virtual_network", "virtual-network", "virtual_networks", "virtual-networks"])
def test_a_kind_is_known_by_every_spelling(intentc: Intentc, networks: ToyApiServer, kind: str) -> None:
    ended = intentc("get", kind)
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == ["NAME", "d:p:blue", "d:p:red", "d:q:blue"]


@pytest.mark.parametrize("name", ["d:p:red", "p:red", "red"])
def test_a_resource_is_known_by_any_end_of_its_name_that_fits_it_alone(
    intentc: Intentc, networks: ToyApiServer, name: str
) -> None:
    assert "d:p:red" in intentc("get", "virtual_network", name).out


def test_a_resource_is_known_by_its_uuid(intentc: Intentc, networks: ToyApiServer) -> None:
    uuid = networks.put("virtual-network", "d", "p", "green")
    assert "d:p:green" in intentc("get", "virtual_network", uuid).out


def test_an_end_that_fits_several_is_rejected_with_their_names(intentc: Intentc, networks: ToyApiServer) -> None:
    ended = intentc("get", "virtual_network", "blue")
    assert ended.code == 2
    assert "blue fits several: d:p:blue, d:q:blue" in ended.err


def test_a_resource_that_is_not_there_is_reported(intentc: Intentc, networks: ToyApiServer) -> None:
    ended = intentc("get", "virtual_network", "black")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("error: there is no virtual_network named black\n")
    assert ended.err.endswith("next:  `intentc get virtual_network` lists all\n")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("rde", "d:p:red"), ("d:p:rde", "d:p:red"), ("bleu", "d:p:blue or d:q:blue"), ("p:re", "d:p:red")],
)
@pytest.mark.parametrize("command", [("get",), ("delete", "--kind"), ("pause",)])
def test_a_name_that_is_not_there_gets_near_ones(
    intentc: Intentc, networks: ToyApiServer, etcd: OrderingEtcd, command: tuple[str, ...], written: str, meant: str
) -> None:
    ended = intentc(*command, "virtual_network", written)
    assert ended.code == 3
    assert f"next:  did you mean {meant}? `intentc get virtual_network` lists all\n" in ended.err


def test_an_unknown_kind_gets_a_suggestion(intentc: Intentc, networks: ToyApiServer) -> None:
    ended = intentc("get", "virtual_netwrok")
    assert ended.code == 3
    assert "did you mean virtual_network" in ended.err


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("acl", "access_control_list"),
        ("vmis", "virtual_machine_interface"),
        ("control_list", "access_control_list"),
        ("security-gruop", "security_group"),
    ],
)
def test_a_kind_is_guessed_from_initials_parts_and_misspellings(intentc: Intentc, written: str, meant: str) -> None:
    ended = intentc("get", written)
    assert ended.code == 3
    assert ended.err.startswith(f"error: unknown kind '{written}'; did you mean {meant}")
    assert ended.err.endswith("next:  `intentc get` lists the kinds\n")


def test_what_resembles_no_kind_gets_no_guess(intentc: Intentc) -> None:
    assert intentc("get", "xyzzy").err.startswith("error: unknown kind 'xyzzy'\n")


def test_without_a_kind_the_kinds_are_listed(intentc: Intentc) -> None:
    kinds = [line.split()[:2] for line in intentc("get").out.splitlines()]
    assert kinds[0] == ["KIND", "GROUP"]
    assert ["security_group", "contrail"] in kinds
    listed = json.loads(intentc("get", "-o", "json").out)["kinds"]
    assert [kind["name"] for kind in listed] == [name for name, _ in kinds[1:]]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_one_shape_for_programs(intentc: Intentc, networks: ToyApiServer, form: str) -> None:
    out = intentc("get", "virtual_network", "red", "-o", form).out
    document = json.loads(out) if form == "json" else load_yaml(out).value
    assert document["apiVersion"] == "intentc/v1"
    (resource,) = document["resources"]
    assert (resource["kind"], resource["fq_name"]) == ("virtual_network", ["d", "p", "red"])


def test_nothing_is_an_empty_table(intentc: Intentc, connected: ToyApiServer) -> None:
    ended = intentc("get", "virtual_network")
    assert (ended.code, ended.out, ended.err) == (0, "", "there is no virtual_network\n")
    assert intentc("get", "virtual_network", "-o", "json").err == ""


def test_a_server_that_is_not_there_is_reported_in_three_lines(
    intentc: Intentc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTENTC_CLIENT__ENDPOINT", "http://127.0.0.1:1")
    ended = intentc("get", "project")
    assert ended.code == 4
    lines = ended.err.splitlines()
    assert len(lines) == 3
    assert lines[1] == "  where: GET http://127.0.0.1:1/projects?detail=true&exclude_hrefs=true&unreadable=true"
    assert "client.endpoint" in lines[2]


def test_a_resource_whose_name_holds_a_colon_is_found(intentc: Intentc, connected: ToyApiServer) -> None:
    connected.put("virtual-network", "d", "p", "fe80::1")
    assert "d:p:fe80::1" in intentc("get", "virtual_network", "p:fe80::1").out


def test_a_kind_of_a_compiler_that_does_not_run_is_reported_with_it(intentc: Intentc, connected: ToyApiServer) -> None:
    ended = intentc("get", "Listeners")
    assert "unknown kind 'Listeners'; the compiler ambassador knows it: put it into intentc.compilers" in ended.err
