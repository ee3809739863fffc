"""A security group has two access control lists below it, always both, even without rules (docs/contrail.md D.5).

The lists are its own: they go with it. Groups that its rules name may come later, or change their number; then this
one runs again.
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
