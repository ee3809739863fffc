"""Who may write: one of all processes of an installation, chosen by a lease in the store (docs/engine.md §9).

``Election`` stands for it and tells when it is won and lost; ``caught_up`` says whether a new leader has seen what the
former one wrote. An election alone keeps no former leader from writing: a process may be stopped for a minute between
asking "do I lead?" and its next request. Safety is the fence, which the API server compares in the transaction of
each write; the election is there so that there is *a* leader, and as a rule only one that tries. What a leader does
and a standby leaves is the pipeline's business.
"""

from .catching_up import caught_up
from .election import DEFAULT_TTL_SECONDS, Election
from .keeper import KeeperFactory, LeaseKeeper, StoreKeeper
from .leadership import Leadership
from .path_claim import OtherLeader, PathClaimed, PathInUse, PathMarked, UnreadableClaim, claim_path, release_path

__all__ = [
    "DEFAULT_TTL_SECONDS",
    "Election",
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
    "claim_path",
    "release_path",
]
