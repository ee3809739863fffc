"""The host names that are served: on which side of which Listener, and what happens to insecure requests.

It reads through the ``Compiled`` that it gets, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import Compiled, Overview, Row

from .columns import Element, problems_of, shared_columns


def _rows(compiled: Compiled) -> Iterator[Row]:
    problems = problems_of(compiled)
    for virtual_host in compiled.objects("envoy_virtual_host"):
        listener, _, side = virtual_host["route_configuration"].partition("|")
        yield {
            "domain": virtual_host["domain"],
            "listener": listener,
            "side": side.partition("|")[0],
            "insecure": _insecure(virtual_host),
            "hosts": [scope for scope in virtual_host["scopes"] if scope],
            **shared_columns(virtual_host, problems),
        }


def _insecure(virtual_host: Element) -> str:
    """Route, Redirect or Reject."""
    head = virtual_host.get("head", [])
    if not head:
        return "Route"
    return "Redirect" if "redirect" in head[0] else "Reject"


DOMAINS = Overview(
    "the host names that are served, on each Listener",
    ("envoy_virtual_host",),
    ("domain", "listener", "side", "insecure", "hosts", "origins", "problems"),
    _rows,
)
"""``side``: ``tls`` or ``cleartext``. ``hosts``: the Hosts with a selector whose Mappings are served."""
