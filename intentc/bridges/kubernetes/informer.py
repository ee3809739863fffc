"""Decides what to ask a cluster about one kind, and what each answer means, so that no change is missed.

Why it exists: a watch alone loses what happened before it, while it was cut, and what the server has compacted. The
informer lists in pages, watches from the list's revision, resumes after the last event or bookmark, and lists again
whenever it can't know that it saw everything: after 410, after a cut at whose end the server's revision is older than
what was seen, in another cluster, and when its caller asks. Only a complete list says what is gone unseen.

``page`` and ``event`` return what the consumer is to apply.
"""

from __future__ import annotations

from typing import NamedTuple

from .wire import Event, Identity, Object, Page, newer

PAGE = 500
"""Objects of one page; client-go's own number."""
_EXPIRED_LISTS = 2
"""Lists in a row whose pages may expire before one is asked for in one piece, as a slow reader never ends otherwise."""
GONE = 410


class ListPage(NamedTuple):
    """Ask for a page. ``limit``: 0 for all in one piece; ``next``: the token of the page before, or empty."""

    limit: int
    next: str


class Probe(NamedTuple):
    """Ask for the server's revision (a list of one object) before a watch is resumed."""


class Watch(NamedTuple):
    """Watch from ``version`` on."""

    version: str


Request = ListPage | Probe | Watch


class Put(NamedTuple):
    """The object exists, with this content."""

    object: Object


class Deleted(NamedTuple):
    """The object was seen to be deleted."""

    object: Object


class Complete(NamedTuple):
    """A list is complete: whatever is not in ``seen`` does not exist. ``doubt``: why it may be another or an older
    cluster than before, whose list proves no deletion; empty if nothing says so."""

    seen: frozenset[tuple[Identity, str]]
    doubt: str


Finding = Put | Deleted | Complete


class Informer:
    """One kind. ``version``: the revision up to which everything was seen; empty before the first complete list."""

    def __init__(self, version: str = "") -> None:
        self.version = version
        """Given: what a former process saw, which only shows whether the cluster is older now."""
        self.complete = False
        """Whether everything that exists has been seen since the start."""
        self._seen: set[tuple[Identity, str]] = set()
        self._next = ""
        self._listing = True
        self._resuming = False
        self._expired = 0
        self._doubt = ""
        self._page = PAGE

    @property
    def listing(self) -> bool:
        """Whether it lists; otherwise it watches, or is about to."""
        return self._listing

    def request(self) -> Request:
        """What to ask next."""
        if self._listing:
            whole = self._expired > _EXPIRED_LISTS
            return ListPage(0 if whole else self._page, self._next)
        return Probe() if self._resuming else Watch(self.version)

    def page(self, page: Page) -> list[Finding]:
        """Take a page of a list."""
        findings: list[Finding] = []
        for found in page.objects:
            self._seen.add((found.identity, found.uid))
            findings.append(Put(found))
        self._next = page.next
        if page.next:
            return findings
        if self.version and newer(self.version, page.version):
            self._doubt = self._doubt or _older(self.version, page.version)
        findings.append(Complete(frozenset(self._seen), self._doubt))
        self.version = page.version
        self.complete = True
        self._listing = self._resuming = False
        self._expired, self._doubt, self._seen, self._page = 0, "", set(), PAGE
        return findings

    def probed(self, page: Page) -> None:
        """Take the answer to a probe."""
        self._resuming = False
        if newer(self.version, page.version):
            # A watch from a revision that the server does not have yet would be silent, and no error.
            self.list_again(_older(self.version, page.version))

    def event(self, event: Event) -> list[Finding]:
        """Take an event of a watch; one that comes late means nothing. Several objects may have one version: our own
        API server writes many at one revision."""
        if event.type == "ERROR":
            if event.code == GONE:
                self.expired()
            else:
                self.cut()
            return []
        version = event.object.version
        if self._listing or newer(self.version, version):
            return []
        if version:
            self.version = version
        match event.type:
            case "ADDED" | "MODIFIED":
                return [Put(event.object)]
            case "DELETED":
                return [Deleted(event.object)]
        return []

    def cut(self) -> None:
        """Note that a watch ended, by whichever side. A list continues with the page that is missing."""
        self._resuming = not self._listing

    def too_large(self) -> bool:
        """Note that a page had too many bytes: ask for fewer objects, from the page that is missing on. False if it had
        one object already."""
        before, self._page = self._page, max(1, self._page // 4)
        self._expired = 0
        self.cut()
        return self._page < before

    def expired(self) -> None:
        """Note that the server has compacted what was asked for (410): list from the beginning."""
        self._expired += self._listing
        self.list_again()

    def list_again(self, doubt: str = "") -> None:
        """List from the beginning. ``doubt``: why the list proves no deletion."""
        self._listing, self._resuming, self._next = True, False, ""
        self._seen = set()
        self._doubt = doubt or self._doubt


def _older(before: str, now: str) -> str:
    return f"the cluster is at revision {now}, older than {before}, which was seen before: it was restored"
