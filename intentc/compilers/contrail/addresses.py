"""Checks the address of an instance, floating or alias IP; an invalid one is a problem on its resource.

Nothing is compiled from these resources alone (docs/contrail.md D.14); what reads their addresses is in
``network_addresses.py`` and ``vrf_assign_table.py``.

It reads and reports problems through ``ctx``.
"""

from __future__ import annotations

import ipaddress

from intentc import Context, Intent


def check_address(intent: Intent, ctx: Context, field: str) -> None:
    """Reports a problem if the property ``field`` is set and is neither an address nor one with a prefix length."""
    text: str = intent.field(field)
    if not text:
        return
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        ctx.problem("MalformedAddress", f"{field} {text!r} is neither an IPv4 nor an IPv6 address; correct it")
