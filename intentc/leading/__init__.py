"""Decides which process may write: one per installation, chosen by a lease in the store (docs/engine.md §9).

``Election`` takes part and reports when it is won and lost; ``caught_up`` checks whether a new leader has seen what the
former one wrote. An election alone does not prevent writes of a former leader: a process may be stopped for a minute
between the question "do I lead?" and its next request. The fence makes it safe, since the API server compares it in
the transaction of each write; the election provides *a* leader, and normally only one that tries.
"""

from .election import DEFAULT_TTL_SECONDS, Election, KeeperFactory, LeaseKeeper, StoreKeeper
from .leader_key import Leadership, caught_up
from .path_claim import (
    InstallationTaken,
    OtherLeader,
    PathClaimed,
    PathInUse,
    PathMarked,
    UnreadableClaim,
    check_claim,
    claim_path,
    release_path,
)

__all__ = [
    "DEFAULT_TTL_SECONDS",
    "Election",
    "InstallationTaken",
    "KeeperFactory",
    "Leadership",
    "LeaseKeeper",
    "OtherLeader",
    "PathClaimed",
    "PathInUse",
    "PathMarked",
    "StoreKeeper",
    "UnreadableClaim",
    "caught_up",
    "check_claim",
    "claim_path",
    "release_path",
]
