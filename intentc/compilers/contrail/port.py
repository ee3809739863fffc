"""A port of a host says which port of which switch it is plugged into (docs/contrail.md D.16).

It reads through ``ctx``, and yields facts.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .switch_ports import HOST_PORT, shown, way


class PortIntent(Intent):
    kind = "port"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        node, link = self.parent(), self.bms_port_info.local_link_connection
        if node is not None and node.hostname and link.switch_info and link.port_id:
            yield Fact(HOST_PORT, way(node.hostname, shown(self)), (self.fq_name, way(link.switch_info, link.port_id)))
