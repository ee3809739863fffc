"""Makes the routes of all Mappings with the same match, and asks for their clusters and tables.

Usually that is one route for all of its tables: ``grouping.py`` says when there are several. ``routing/sharing.py``
decides who shares a route, ``envoy/route.py`` makes its JSON. Problems are reported on the members' resources, also
that no Host serves one. A member that can't be served leaves its requests to the others. If no member can be served,
requests are answered 503 and never go elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from intentc import Claim, Context, Fact, Intent, Source

from .envoy_elements import element
from .faults import Faults
from .grouping import add_uses, clusters_in, members_of, routes_of, shared_routes
from .reasons.groups import route, route_parts
from .routing.route_action import GroupMember, RouteMatch, route_name, sort_key
from .routing.sharing import Sharing, until_repaired
from .upstreams.upstream import ClusterUse


class MappingGroupIntent(Intent):
    kind = "mapping_group"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        members = members_of(ctx, self.uuid)
        faults = Faults(ctx)
        self._report_unserved(ctx, members, faults)
        uses: dict[str, ClusterUse] = {}
        shared = list(shared_routes(members))
        for match, found in shared:
            for rejection in found.rejections:
                faults.report_on(rejection.member.kind, rejection.member.name, rejection.reason, rejection.message)
            yield from self._elements(ctx, members, match, found, faults)
            add_uses(uses, found)
        for member in members:
            if member.trouble is not None:
                reason, message = member.trouble
                outcome = until_repaired(member, shared)
                faults.report_on(member.kind, member.name, reason, f"{message}; until then {outcome}")
        for name, use in uses.items():
            yield Fact("cluster", name, use)
        yield from faults.facts()

    def _elements(
        self, ctx: Context, members: list[GroupMember], match: RouteMatch, found: Sharing, faults: Faults
    ) -> Iterator[Claim | Fact]:
        routes = list(routes_of(route_name(match), match, found))
        for position, config in enumerate(routes):
            name: str = config["name"]
            # Routes of one match are adjacent, in their order.
            order = f"{sort_key(match, routes[0]['name'])}\t{len(routes) - position:04d}"
            yield element(
                self,
                ctx,
                "envoy_route",
                (name,),
                config,
                [Source(member.kind, member.name, member.fields[0]) for member in found.members],
                why=partial(route, ctx, members, name),
                parts=partial(route_parts, ctx, members, found, config, position),
                report=faults.report_on,
                tables=list(match.tables),
                sort_key=order,
                clusters=sorted(clusters_in(config)),
            )
        if routes:
            for table in match.tables:
                yield Fact("routing_table", table, "")

    @staticmethod
    def _report_unserved(ctx: Context, members: list[GroupMember], faults: Faults) -> None:
        for member in members:
            tables = member.match.tables
            if not any(ctx.contributed("table_served", table) for table in tables):
                hostnames = ", ".join(sorted({table.partition("|")[2] for table in tables}))
                message = f"no Host serves {hostnames}; make one, or change the hostname"
                faults.report_on(member.kind, member.name, "NoHost", message)
