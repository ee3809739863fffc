"""Random interface route tables and health checks of services, routes to services, and gateways of routers.

A part is (kind, data) of one resource, as in ``services.py``. The addresses of checks from end to end and of routers'
services depend on the order of arrival, so that they come within a history only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.property.policies import SERVICES

Json = dict[str, Any]
Part = tuple[str, Json]

_types = st.sampled_from(["link-local", "segment"])
_prefixes = st.sampled_from(["10.8.0.0/16", "10.9.0.0/16", "2000:8::/64"])
_sides = st.sampled_from(["left", "left", "right"])


@st.composite
def _of_services(draw: st.DrawFn) -> list[Json]:
    """References to the services that rules name, each to an interface of one type."""
    chosen = draw(st.lists(st.sampled_from(SERVICES), max_size=2, unique=True))
    return [{"to": service.split(":"), "attr": {"interface_type": draw(_sides)}} for service in chosen]


@st.composite
def attached(draw: st.DrawFn, names: st.SearchStrategy[Any]) -> Part:
    """An interface route table, or a health check that no address follows from."""
    name = list(draw(names))
    if draw(st.booleans()):
        routes = [{"prefix": prefix} for prefix in draw(st.lists(_prefixes, max_size=2, unique=True))]
        fields: Json = {"interface_route_table_routes": {"route": routes}}
        return "interface_route_table", {"fq_name": name, **fields, "service_instance_refs": draw(_of_services())}
    return _check(name, draw(_types), draw(_of_services()))


@st.composite
def end_to_end(draw: st.DrawFn, names: st.SearchStrategy[Any]) -> Part:
    """A health check with addresses in the networks of the ports."""
    return _check(list(draw(names)), "end-to-end", draw(_of_services()))


def _check(name: list[str], sort: str, references: list[Json]) -> Part:
    properties = {"health_check_type": sort, "monitor_type": "PING"}
    fields = {"service_health_check_properties": properties, "service_instance_refs": references}
    return "service_health_check", {"fq_name": name, **fields}


def own_attached(names: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    """What a user lets a port refer to, whatever its services give it; mostly nothing is said of it."""

    def references(chosen: tuple[Any, str]) -> Json:
        name, kind = chosen
        return {f"{kind}_refs": [{"to": list(name)}]}

    one = st.tuples(names, st.sampled_from(["interface_route_table", "service_health_check"])).map(references)
    return st.one_of(st.just({}), st.just({}), st.just({}), one)


class Leading(NamedTuple):
    """A route of a route table (its fq_name) that leads to a service."""

    service: str
    table: list[str]
    entry: Json


def leading(services: list[str], names: st.SearchStrategy[Any]) -> st.SearchStrategy[Leading]:
    """A route to one of ``services``; ``names``: of tables."""
    prefixes = st.sampled_from(["0.0.0.0/0", "0.0.0.0/0", "::/0"])
    return st.builds(
        lambda service, name, prefix: Leading(service, list(name), {"prefix": prefix, "next_hop": service}),
        st.sampled_from(services),
        names,
        prefixes,
    )


pairs = st.sampled_from(
    [
        *[{}] * 5,
        *(
            {
                "allowed_address_pairs": {
                    "allowed_address_pair": [{"ip": {"ip_prefix": "10.5.0.0", "ip_prefix_len": 16}, **mode}]
                }
            }
            for mode in ({}, {"address_mode": "active-active"})
        ),
    ]
)
"""What an interface of a service says of its address pairs."""

routes_to_services = st.builds(
    lambda service, sort: {"next_hop": service, "next_hop_type": sort},
    st.sampled_from(SERVICES),
    st.sampled_from(["service-instance", "service-instance", "", "ip-address"]),
)
"""The next hop of a route."""
