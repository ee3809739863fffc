"""Decides which process may write: one per installation, chosen by a lease in the store (docs/engine.md §9).

``Election`` takes part and reports when it is won and lost; ``caught_up`` checks whether a new leader has seen what the
former one wrote. An election alone does not prevent writes of a former leader: a process may be stopped for a minute
between the question "do I lead?" and its next request. The fence makes it safe, since the API server compares it in
the transaction of each write; the election provides *a* leader, and normally only one that tries. The engine decides
what a leader does and a standby does not.

It owns the leader's key with its lease, the record of the last leader's versions, and the claim on the path, all in
etcd. State: the tenure, in memory.
"""

from .catching_up import caught_up
from .election import DEFAULT_TTL_SECONDS, Election
from .keeper import KeeperFactory, LeaseKeeper, StoreKeeper
from .leadership import Leadership
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
