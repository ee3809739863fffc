"""A condition, and the parts of a Gateway's state that both versions report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from intentc import StatusClaim, View, status

from .certificate_references import Resolution
from .gateway_addresses import Requested
from .gateway_listeners import Listener
from .listener_checks import Verdict
from .running import Running


class Condition(NamedTuple):
    """``message``: for people; empty if there is nothing to add to the reason. What is written is never empty: a
    cluster's definitions demand a message."""

    type: str
    status: bool | str
    reason: str
    message: str = ""

    def of(self, owner: View) -> StatusClaim:
        """The claim that ``owner`` has the condition."""
        return status.condition(owner, self.type, self.status, self.reason, self.message or self.reason)

    def document(self, generation: int) -> dict[str, Any]:
        """The condition inside a field of the status. The API server gives it its time."""
        return {
            "type": self.type,
            "status": str(self.status),
            "reason": self.reason,
            "message": self.message or self.reason,
            "observedGeneration": generation,
        }


def unless(fault: str, message: str, type_: str, good: str) -> Condition:
    """True for the reason ``good``; with a ``fault``, false for that reason."""
    return Condition(type_, False, fault, message) if fault else Condition(type_, True, good)


def conflicted(verdict: Verdict) -> Condition:
    """Whether a listener conflicts with others."""
    if verdict.conflict:
        return Condition("Conflicted", True, verdict.conflict, verdict.message)
    return Condition("Conflicted", False, "NoConflicts")


class Checked(NamedTuple):
    """One listener, and what was found out about it. ``attached``: the number of its routes."""

    listener: Listener
    verdict: Verdict
    resolution: Resolution
    attached: int = 0
    overlaps: bool = False

    @property
    def is_good(self) -> bool:
        """Valid, without conflict, with certificates that can be used."""
        return self.verdict.is_good and not self.resolution.reason


class GatewayState(NamedTuple):
    """A Gateway of an admitted class. ``fault``: why its parameters can't be used. ``running``: what the cluster has
    of its instance; None if nothing is made for it. ``remains``: what it has of one that was made and can't be changed
    now. ``publishes_nodes``: clients reach it by ports of nodes, so no address is waited for."""

    listeners: tuple[Checked, ...] = ()
    addresses: Requested = Requested()
    fault: str = ""
    running: Running | None = None
    remains: Running | None = None
    publishes_nodes: bool = False

    @property
    def valid(self) -> int:
        """The number of listeners in force."""
        return sum(one.verdict.is_good for one in self.listeners)


def faults_of(listeners: Iterable[Checked]) -> str:
    """What is wrong with listeners by themselves or on their port, in one text."""
    return "; ".join(
        f"listener {one.listener.name}: {one.verdict.message}" for one in listeners if not one.verdict.is_good
    )


def unresolved(listeners: Iterable[Checked]) -> str:
    """What is wrong with the references of listeners, in one text."""
    return "; ".join(
        f"listener {one.listener.name}: {one.resolution.message}" for one in listeners if one.resolution.reason
    )
