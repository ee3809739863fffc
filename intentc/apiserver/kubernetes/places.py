"""Limits how many watches one server carries at once: of a user, from an address, and in total.

Why it exists: a watch lasts as long as its client likes, and takes two file descriptors: the client's connection, and a
connection to etcd. Without limits a single reader takes all of them, and nobody else is served, ``/readyz`` included.
``serving`` derives the total from the process's limit of open files, so that half of the connections stay free for
calls that end; the last watches stay free for administrators.

State: how many watches are open, by user and by address.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial

from ..authorization import Caller
from ..errors import TooManyRequests

MOST = 512
"""Watches of a server, if the process may open enough files."""
_SHARE_OF_USER, _SHARE_OF_ADDRESS, _SHARE_OF_RESERVE = 4, 2, 8


class Places:
    """Places for ``most`` watches: a quarter for each user, half for each address, an eighth for administrators
    alone."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._users = Counter[str]()
        self._addresses = Counter[str]()
        self._open = 0
        # A call may be carried out in a thread.
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._open

    def take(self, caller: Caller, address: str, *, is_administrator: bool) -> Callable[[], None]:
        """Take a place, and return what gives it back. ``address``: the network that counts as one client.

        Raises ``TooManyRequests``. Without users (``no_auth``) only addresses and the total are limited.
        """
        user = caller.user_id
        most_of_all = self._most if is_administrator else self._most - self._most // _SHARE_OF_RESERVE
        with self._lock:
            for there, most, owner in (
                (self._users[user] if user else 0, self._most // _SHARE_OF_USER, f"the user {user}"),
                (self._addresses[address], self._most // _SHARE_OF_ADDRESS, f"the address {address}"),
                (self._open, most_of_all, "all clients"),
            ):
                if there >= most:
                    raise TooManyRequests(
                        f"{there} watches of {owner} are open, and {most} are the most; end some, or watch all "
                        "namespaces of a kind by one"
                    )
            self._count(user, address, 1)
        return partial(self._give_back, user, address)

    def _give_back(self, user: str, address: str) -> None:
        with self._lock:
            self._count(user, address, -1)

    def _count(self, user: str, address: str, change: int) -> None:
        self._open += change
        for counter, key in ((self._users, user), (self._addresses, address)):
            counter[key] += change
            if not counter[key]:
                del counter[key]
