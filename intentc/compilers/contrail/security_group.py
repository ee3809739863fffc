"""A security group has two access control lists below it, always both, even without rules (D.5).

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
        yield self.child("access_control_list", INGRESS, access_control_list_entries={"acl_rule": rules.ingress})
        yield self.child("access_control_list", EGRESS, access_control_list_entries={"acl_rule": rules.egress})
