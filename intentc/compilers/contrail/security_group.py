"""A security group has two access control lists below it, even without rules (docs/contrail.md D.5).

It owns the lists: they are deleted with it. When a group that its rules name is created or changes its number, this
intent runs again.

It reads, reports problems and gives reasons through ``ctx``, and yields claims.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .acl_rules import acl_rules

INGRESS = "ingress-access-control-list"
EGRESS = "egress-access-control-list"


class SecurityGroupIntent(Intent):
    kind = "security_group"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        rules = acl_rules(self, ctx)
        ingress = self.child("access_control_list", INGRESS, access_control_list_entries={"acl_rule": rules.ingress})
        egress = self.child("access_control_list", EGRESS, access_control_list_entries={"acl_rule": rules.egress})
        if ctx.explaining:
            for access_control_list, origins in zip((ingress, egress), rules.origins, strict=True):
                for position, sources in enumerate(origins):
                    part = f"access_control_list_entries.acl_rule[{position}]"
                    ctx.because(access_control_list, *sources, part=part)
        yield ingress
        yield egress
