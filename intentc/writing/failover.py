"""Chooses among the addresses of one service: the one that answered last, and after it fails the next.

Why it exists: several API servers may run over one etcd, and a client must go on with another when one is down.
``connection`` and ``keystone`` decide what counts as a failure.

State: which address is in use.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

_LOG = logging.getLogger(__name__)


class Addresses:
    """URLs of the same service, without slashes at their ends. ``what``: names it in the log."""

    def __init__(self, urls: Sequence[str], what: str) -> None:
        self._urls = tuple(url.rstrip("/") for url in urls)
        self._what = what
        self._current = 0

    def in_turn(self) -> Iterator[str]:
        """Each address once, the one in use first."""
        first = self._current
        for step in range(len(self._urls)):
            yield self._urls[(first + step) % len(self._urls)]

    def failed(self, url: str) -> None:
        """Note that ``url`` gave no usable answer: the next one is used, unless another call has moved on already."""
        if len(self._urls) > 1 and self._urls[self._current] == url:
            self._current = (self._current + 1) % len(self._urls)
            _LOG.info("%s: %s fails; trying %s", self._what, url, self._urls[self._current])

    def works(self, url: str) -> None:
        """Note that ``url`` answered: it stays in use."""
        self._current = self._urls.index(url)
