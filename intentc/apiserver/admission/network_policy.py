"""Completes and checks network policies: rules and rule uuids (docs/contrail.md B.5.9, B.7)."""

from __future__ import annotations

from typing import ClassVar

from intentc.model.names import Name

from ..errors import BadRequest
from .policy_rules import addresses, fill_rule_uuids, reject_duplicates, rules_of
from .rules import Change, Found, Rules, Uuids

_FIELD = "network_policy_entries"


class NetworkPolicyRules(Rules):
    """Every rule has an action, none names a security group, and no two are equal."""

    kind: ClassVar[str] = "network_policy"

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        after = change.after
        assert after is not None
        rules = rules_of(after, _FIELD)
        if _FIELD in change.given:
            for place, rule in enumerate(rules):
                where = f"{_FIELD}.policy_rule[{place}]"
                if not rule.get("action_list"):
                    raise BadRequest(f"{where}: action_list is missing; give for example simple_action: pass")
                if any(address.get("security_group") for address in addresses(rule)):
                    raise BadRequest(f"{where}: a policy can't name security groups; name networks or subnets")
            reject_duplicates(rules, _FIELD)
        fill_rule_uuids(after, _FIELD, Name(self.kind, tuple(after["fq_name"])), uuids)
