"""The policies that a network attaches, in the order in which their rules apply (docs/contrail.md D.4.2).

It says of each whether it has a timer, and reports one whose place is unknown. The policies of services follow these;
they are in ``automatic_policy.py``.

It reads and reports problems through ``ctx``.
"""

from __future__ import annotations

from typing import NamedTuple

from intentc import Context, View


class AttachedPolicy(NamedTuple):
    """``policy`` is None while it does not exist. ``is_timed``: its rules are for the dynamic list."""

    policy: View | None
    is_timed: bool


def attached_policies(network: View, ctx: Context) -> list[AttachedPolicy]:
    """By sequence, and then as the network names them; those without a sequence last."""
    found: list[tuple[tuple[int, int, int], AttachedPolicy]] = []
    seen: set[str] = set()
    for policy, attached in network.written_references("network_policy"):
        if attached.sequence is None and attached.timer:
            name = ":".join(policy.fq_name) if policy else "a policy"
            message = f"it attaches {name} with a timer and no sequence, so its place among the others is unknown"
            ctx.problem("PolicyWithoutSequence", f"{message}; the policy has no effect until it has a sequence")
            continue
        sequence = attached.sequence
        order = (1, 0, 0) if sequence is None else (0, sequence.major, sequence.minor)
        if policy is None or policy.uuid not in seen:
            seen.add(policy.uuid if policy else "")
            found.append((order, AttachedPolicy(policy, bool(attached.timer))))
    return [policy for _, policy in sorted(found, key=lambda item: item[0])]
