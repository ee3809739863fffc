"""Keeps the valid tokens, and limits log-ins: how often each user and each client may try, and the tokens of a user.

Why it exists: a log-in needs no token, so without limits one client could guess passwords at full speed, or fill the
table of tokens until everybody else's are displaced.

State: attempts and digests of tokens, in memory; ``auth`` changes them.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Callable, Hashable
from typing import NamedTuple

from .authorization import Caller

MOST_TOKENS = 100
"""Tokens of one user at once; a new one displaces the user's own oldest."""
_MOST_BUCKETS = 10_000
_IPV6_NETWORK = 64
"""Bits: a client has all addresses of such a network."""


class Rate:
    """A token bucket per key: ``burst`` tries at once, ``per_second`` in the long run. ``clock``: seconds."""

    def __init__(self, burst: int, per_second: float, clock: Callable[[], float]) -> None:
        self._burst = burst
        self._per_second = per_second
        self._clock = clock
        # The least recently used first.
        self._buckets: dict[Hashable, tuple[float, float]] = {}

    def allows(self, key: Hashable) -> bool:
        """Whether one more try is allowed now; it is not counted yet."""
        return self._left(key) >= 1

    def count(self, key: Hashable) -> None:
        """Count one try."""
        left = self._left(key)
        self._buckets.pop(key, None)
        self._buckets[key] = (max(left - 1, 0.0), self._clock())
        if len(self._buckets) > _MOST_BUCKETS:
            del self._buckets[next(iter(self._buckets))]

    def _left(self, key: Hashable) -> float:
        left, since = self._buckets.get(key, (float(self._burst), 0.0))
        return min(float(self._burst), left + (self._clock() - since) * self._per_second)


class Session(NamedTuple):
    """A token of the user with id ``user``; good until ``expires`` (the clock's seconds)."""

    user: str
    caller: Caller
    expires: float


def digest_of(token: str) -> str:
    """What is kept of a token, here and in etcd."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class Sessions:
    """The valid tokens by their digests: at most ``MOST_TOKENS`` of each user. ``clock``: seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sessions: dict[str, Session] = {}
        # User → the digests of that user's tokens, the oldest first.
        self._tokens: dict[str, dict[str, None]] = {}

    def add(self, digest: str, session: Session) -> list[str]:
        """Remember a token; returns the user's oldest ones, which are dropped if there are too many."""
        if digest in self._sessions:
            return []
        tokens = self._tokens.setdefault(session.user, {})
        displaced = list(tokens)[: max(0, len(tokens) - MOST_TOKENS + 1)]
        for one in displaced:
            self.remove(one)
        # Removing the last one of a user has removed the user.
        self._tokens.setdefault(session.user, tokens)[digest] = None
        self._sessions[digest] = session
        return displaced

    def find(self, digest: str) -> Session | None:
        """The session of a token; None if it is unknown or expired."""
        session = self._sessions.get(digest)
        if session is None:
            return None
        if session.expires <= self._clock():
            self.remove(digest)
            return None
        return session

    def remove(self, digest: str) -> None:
        """Forget a token, if it is known."""
        session = self._sessions.pop(digest, None)
        if session is not None:
            tokens = self._tokens[session.user]
            del tokens[digest]
            if not tokens:
                del self._tokens[session.user]


def network_of(address: str) -> str:
    """The network that counts as one client: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed), _IPV6_NETWORK), strict=False))
