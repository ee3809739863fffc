"""Checks the address of an instance IP, the address of an interface.

A change leads to that interface (docs/contrail.md C.3, D.14).

It reads and reports problems through ``ctx``, and yields nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .addresses import check_address


class InstanceIpIntent(Intent):
    kind = "instance_ip"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        check_address(self, ctx, "instance_ip_address")
        return ()
