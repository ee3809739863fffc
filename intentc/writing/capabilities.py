"""Learns what the API server can do: from ``GET /``, asked once, and from its answers.

Why it exists: Contrail's server lacks what ours adds (``apiserver/app.py`` lists it), and intentc works with both.
Each missing capability is logged once. The modules that write adapt to it.

State: what is known of the server.
"""

from __future__ import annotations

import asyncio
import logging

import msgspec

from intentc.reconcile.failures import Throttled, Unavailable, UnknownOutcome

from .answers import REVISION_HEADER, Answer, failure
from .connection import Connection

_LOG = logging.getLogger(__name__)


class _About(msgspec.Struct):
    max_txn_ops: int = 0
    relaxed_references: bool = False
    fence: bool = False


class Capabilities:
    """The capabilities of a server.

    ``bulk``: it has ``/sync``. ``revisions``: it sends ``X-Etcd-Revision``, and so checks our conditions (None: not
    known yet). ``operations``: the most operations of one of its transactions (None: not asked yet, 0: unknown to us).
    ``relaxes``: it relaxes references in the transaction that writes them. ``fences``: it rejects writes of former
    leaders (None: not known yet).
    """

    def __init__(self) -> None:
        self.bulk = True
        self.revisions: bool | None = None
        self.operations: int | None = None
        self.relaxes = False
        self.fences: bool | None = None
        self._asking = asyncio.Lock()

    async def learn(self, connection: Connection) -> None:
        """Ask the server (``GET /``) unless it was asked before. Raises ``Unavailable`` or ``Throttled``."""
        async with self._asking:
            if self.operations is not None:
                return
            try:
                answer = await connection.send("GET", "/")
            except UnknownOutcome as error:
                raise Unavailable(str(error)) from None
            failed = None if answer.ok else failure(answer)
            if isinstance(failed, Throttled):
                raise failed
            self.note_about(answer)

    def note(self, answer: Answer) -> int | None:
        """The revision of an acknowledged write; None if the server sends none, which is logged once."""
        revision = answer.revision
        if revision is not None:
            self.revisions = True
        elif self.revisions is None:
            self.revisions = self.fences = False
            _LOG.warning(
                "the API server sends no %s: continuing without compare-and-set and without the fence;"
                " let no second compiler write there",
                REVISION_HEADER,
            )
        return revision

    def note_about(self, answer: Answer) -> None:
        """Note the capabilities in the answer to ``GET /``."""
        try:
            about = msgspec.json.decode(answer.content, type=_About)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            about = _About()
        self.operations = max(0, about.max_txn_ops)
        self.relaxes = about.relaxed_references
        if not about.fence and self.fences is None and self.revisions is not False:
            _LOG.warning(
                "the API server checks no fences: a former leader that does not know yet that it is one could still"
                " write there"
            )
        self.fences = about.fence

    def note_no_bulk(self) -> None:
        """Note that the server has no ``/sync``."""
        if self.bulk:
            self.bulk = False
            _LOG.warning("the API server has no /sync: writing one by one, which is slower")
