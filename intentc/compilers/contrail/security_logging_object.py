"""A security logging object lists the rules that it logs, each with its rate (docs/contrail.md D.6).

A reference to a policy or group chooses rules by uuid, or stands for all rules of it. Objects that networks and
interfaces refer to are enforced by the data plane; nothing is compiled for those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from intentc import Claim, Context, Fact, Intent, Source, View, assign

RULES = "security_logging_object_rules"

ENTRIES = {"network_policy": "network_policy_entries", "security_group": "security_group_entries"}
"""Relation → the property with the rules of its targets."""


class SecurityLoggingObjectIntent(Intent):
    kind = "security_logging_object"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        # By (rule, logged one in how many times)
        reasons: dict[tuple[str, int], list[tuple[Source, ...]]] = {}
        for relation, entries in ENTRIES.items():
            for target, attribute in self.reference_attributes(relation):
                reference = Source.of(self, f"{relation}_refs[{':'.join(target.fq_name)}]")
                for rule, rate, source in _rules(target, attribute, entries):
                    if rule:
                        logged = (rule, rate or self.security_logging_object_rate)
                        reasons.setdefault(logged, []).append((reference, source))
        if reasons:
            claim = assign(self, RULES, {"rule": [{"rule_uuid": rule, "rate": rate} for rule, rate in reasons]})
            for position, found in enumerate(reasons.values()):
                for sources in found:
                    ctx.because(claim, *sources, part=f"{RULES}.rule[{position}]")
            yield claim


def _rules(target: View, attribute: Any, entries: str) -> Iterator[tuple[str, int, Source]]:
    """(uuid, rate or 0, source) of the rules of ``target`` that a reference with ``attribute`` means."""
    if attribute.rule:
        for chosen in attribute.rule:
            yield chosen.rule_uuid, chosen.rate, Source.of(target)
        return
    for position, rule in enumerate(target.field(entries).policy_rule):
        yield rule.rule_uuid, 0, Source.of(target, f"{entries}.policy_rule[{position}]")
