"""The assembly of routes: tables, order, wildcards, and equal virtual hosts."""

from __future__ import annotations

import random

from envoy.config.route.v3 import route_pb2
from google.protobuf import any_pb2

from intentc.bridges.xds.encoding import Version
from intentc.bridges.xds.route_configurations import Assembly
from intentc.model.hostname_patterns import covers
from tests.unit.bridges.xds.served_world import CONFIGURATION, route, shown, virtual_host


def assembled(assembly: Assembly, name: str = CONFIGURATION) -> route_pb2.RouteConfiguration:
    message = route_pb2.RouteConfiguration()
    assert any_pb2.Any.FromString(assembly.assemble(name)).Unpack(message)
    return message


def assembly_of(*versions: Version) -> Assembly:
    assembly = Assembly()
    for version in versions:
        put(assembly, version)
    return assembly


def put(assembly: Assembly, version: Version) -> None:
    if version.element.kind == "envoy_route":
        assembly.put_route(version.element.name, version)
    else:
        assembly.put_virtual_host(version.element.name, version)


def test_routes_stand_highest_sort_key_first() -> None:
    assembly = assembly_of(virtual_host("*"), *(route(name, sort_key=name) for name in ("b", "c", "a")))
    assert shown(assembled(assembly)) == {"*": ["c", "b", "a"]}


def test_a_virtual_host_has_the_routes_of_every_table_that_covers_its_domain() -> None:
    assembly = assembly_of(
        route("any", sort_key="1"),
        route("wild", tables=("|*.example.org",), sort_key="2"),
        route("exact", tables=("|a.example.org",), sort_key="3"),
        route("other", tables=("|b.example.org",), sort_key="4"),
        virtual_host("a.example.org"),
    )
    assert shown(assembled(assembly)) == {"a.example.org": ["exact", "wild", "any"]}


def test_a_table_of_another_scope_is_not_seen() -> None:
    assembly = assembly_of(
        route("own", tables=("ns:h|a",)), route("plain", tables=("|a",)), virtual_host("a", scopes=("ns:h",))
    )
    assert shown(assembled(assembly)) == {"a": ["own"]}


def test_a_route_in_two_tables_of_one_virtual_host_stands_once() -> None:
    assembly = assembly_of(route("r", tables=("|*", "|a")), virtual_host("a"))
    assert shown(assembled(assembly)) == {"a": ["r"]}


def test_virtual_hosts_that_differ_only_in_their_domain_become_one() -> None:
    assembly = assembly_of(
        route("r"), virtual_host("a"), virtual_host("b"), virtual_host("c", include_attempt_count_in_response=True)
    )
    assert shown(assembled(assembly)) == {"a b": ["r"], "c": ["r"]}


def test_an_extra_table_separates_equal_virtual_hosts_until_it_is_deleted() -> None:
    assembly = assembly_of(route("r"), virtual_host("a"), virtual_host("b"))
    put(assembly, route("own", tables=("|a",), sort_key="z"))
    assert shown(assembled(assembly)) == {"a": ["own", "r"], "b": ["r"]}
    assembly.put_route("own", None)
    assert shown(assembled(assembly)) == {"a b": ["r"]}


def test_the_head_comes_before_all_routes() -> None:
    first = {"name": "redirect", "match": {"prefix": "/"}, "redirect": {"https_redirect": True}}
    assembly = assembly_of(route("r", sort_key="zzz"), virtual_host("a", head=(first,)))
    assert shown(assembled(assembly)) == {"a": ["redirect", "r"]}


def test_only_route_configurations_with_the_changed_route_are_dirty() -> None:
    assembly = assembly_of(
        route("r", tables=("|a",)), virtual_host("a", configuration="one"), virtual_host("b", configuration="two")
    )
    assembly.assemble("one"), assembly.assemble("two")
    assert not assembly.dirty
    put(assembly, route("r", tables=("|a",), cluster="other"))
    assert assembly.dirty == {"one"}


def test_any_order_of_changes_equals_a_fresh_assembly() -> None:
    chance = random.Random(7)
    patterns = ["*", "*.o", "a.o", "b.o", "a.*", "c"]
    names = [f"r{number}" for number in range(8)]
    assembly, there = Assembly(), dict[str, Version]()
    for _ in range(600):
        if chance.random() < 0.7:
            version = route(
                chance.choice(names),
                tables=tuple(sorted({f"|{chance.choice(patterns)}" for _ in range(chance.randint(1, 3))})),
                sort_key=str(chance.randint(0, 9)),
            )
        else:
            version = virtual_host(chance.choice(["a.o", "b.o", "a.x", "*", "c"]), configuration=chance.choice("xy"))
        name = version.element.name
        if chance.random() < 0.3:
            there.pop(name, None)
            (assembly.put_route if version.element.kind == "envoy_route" else assembly.put_virtual_host)(name, None)
        else:
            there[name] = version
            put(assembly, version)
        for configuration in "xy":
            assert assembly.assemble(configuration) == assembly_of(*there.values()).assemble(configuration)
            assert shown(assembled(assembly, configuration)) == expected(there, configuration)


def expected(there: dict[str, Version], configuration: str) -> dict[str, list[str]]:
    """The rule itself, by comparing all pairs."""
    hosts = sorted(
        (one for one in there.values() if one.element.route_configuration == configuration),
        key=lambda host: host.element.name,
    )
    merged: dict[tuple[str, ...], list[str]] = {}
    routes: dict[tuple[str, ...], list[str]] = {}
    for host in hosts:
        seen = {
            table: one
            for one in there.values()
            for table in one.element.tables
            if covers(table.removeprefix("|"), host.element.domain)
        }
        tables = tuple(sorted(seen))
        found = {
            (one.element.sort_key, one.element.name) for one in there.values() if set(one.element.tables) & set(tables)
        }
        merged.setdefault(tables, []).append(host.element.domain)
        routes[tables] = [name for _, name in sorted(found, reverse=True)]
    return {" ".join(domains): routes[tables] for tables, domains in merged.items()}
