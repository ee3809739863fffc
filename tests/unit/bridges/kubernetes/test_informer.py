"""The informer over a model of a cluster: whatever happens on the way, it knows what the cluster has."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from intentc.bridges.kubernetes.informer import Complete, Deleted, Finding, Informer, ListPage, Probe, Put, Watch
from intentc.bridges.kubernetes.wire import Event, Identity, Object, Page

_NAMES = ("north", "south", "east")


class _Change(NamedTuple):
    version: int
    type: str
    object: Object


class _Cluster:
    """One kind in a cluster that counts its changes, with pages of two objects."""

    def __init__(self, version: int = 1) -> None:
        self.version = version
        self.objects: dict[str, Object] = {}
        self.history: list[_Change] = []
        self.compacted = 0
        self._lives = 0
        self._pages: dict[str, Page] = {}

    def put(self, name: str) -> None:
        self.version += 1
        before = self.objects.get(name)
        self._lives += before is None
        uid = before.uid if before else f"life-{self._lives}"
        self.objects[name] = Object(Identity("valley", name), uid, str(self.version), b"%d" % self.version)
        self.history.append(_Change(self.version, "MODIFIED" if before else "ADDED", self.objects[name]))

    def delete(self, name: str) -> None:
        before = self.objects.pop(name, None)
        if before is not None:
            self.version += 1
            self.history.append(_Change(self.version, "DELETED", before._replace(version=str(self.version))))

    def page(self, request: ListPage) -> Page | None:
        """The answer; None for 410."""
        if request.next:
            return self._pages.pop(request.next, None)
        objects = tuple(self.objects.values())
        if not request.limit:
            return Page(objects, str(self.version), "")
        pieces = [objects[start : start + 2] for start in range(0, len(objects), 2)] or [()]
        for number, piece in enumerate(pieces[1:], 1):
            following = f"{self.version}-{number + 1}" if number + 1 < len(pieces) else ""
            self._pages[f"{self.version}-{number}"] = Page(piece, str(self.version), following)
        return Page(pieces[0], str(self.version), f"{self.version}-1" if len(pieces) > 1 else "")

    def events(self, version: str) -> list[Event] | None:
        """All events since; None for 410."""
        if int(version) < self.compacted:
            return None
        return [Event(change.type, change.object) for change in self.history if change.version > int(version)]

    def compact(self) -> None:
        self.compacted = self.version
        self._pages.clear()


class _Reader:
    """An informer, and what it said so far: name → version of its content. ``held``: deletions that are in doubt."""

    def __init__(self) -> None:
        self.informer = Informer()
        self.known: dict[Identity, Object] = {}
        self.doubts: list[str] = []

    def take(self, findings: list[Finding]) -> None:
        for finding in findings:
            match finding:
                case Put(found):
                    self.known[found.identity] = found
                case Deleted(found):
                    if self.known.get(found.identity, found).uid == found.uid:
                        self.known.pop(found.identity, None)
                case Complete(seen, doubt):
                    if doubt:
                        self.doubts.append(doubt)
                    self.known = {
                        name: found for name, found in self.known.items() if doubt or (name, found.uid) in seen
                    }

    def step(self, cluster: _Cluster, fault: str = "", number: int = 0) -> None:
        """One request with its answer; ``fault``: what happens to it, after ``number`` events."""
        request = self.informer.request()
        if fault == "cut" and not isinstance(request, Watch):
            self.informer.cut()
            return
        match request:
            case ListPage():
                page = cluster.page(request)
                if page is None:
                    self.informer.expired()
                else:
                    self.take(self.informer.page(page))
            case Probe():
                self.informer.probed(Page((), str(cluster.version), ""))
            case Watch(version):
                events = cluster.events(version)
                if events is None:
                    self.informer.expired()
                    return
                if fault == "twice":
                    events = [event for event in events for _ in (1, 2)]
                if fault == "late":
                    events = events + events[:number]
                for event in events[: number if fault == "cut" else None]:
                    self.take(self.informer.event(event))
                if fault == "gone":
                    self.informer.event(Event("ERROR", Object(Identity("", ""), "", "", b""), 410, "too old"))
                elif fault == "bookmark":
                    self.informer.event(Event("BOOKMARK", Object(Identity("", ""), "", str(cluster.version), b"{}")))
                self.informer.cut()


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["put", "delete"]), st.sampled_from(_NAMES), st.just(0)),
        st.tuples(st.just("compact"), st.just(""), st.just(0)),
        st.tuples(
            st.just("step"), st.sampled_from(["", "cut", "twice", "late", "gone", "bookmark"]), st.integers(0, 4)
        ),
    ),
    max_size=40,
)


@given(_STEPS)
def test_whatever_happens_it_ends_with_what_the_cluster_has(steps: list[tuple[str, str, int]]) -> None:
    cluster, reader = _Cluster(), _Reader()
    for what, name, number in steps:
        match what:
            case "put":
                cluster.put(name)
            case "delete":
                cluster.delete(name)
            case "compact":
                cluster.compact()
            case _:
                reader.step(cluster, name, number)
    for _ in range(12):
        reader.step(cluster)
    assert reader.known == {found.identity: found for found in cluster.objects.values()}
    assert reader.informer.complete
    assert reader.doubts == []


def _watched(*names: str) -> tuple[_Cluster, _Reader]:
    cluster, reader = _Cluster(), _Reader()
    for name in names:
        cluster.put(name)
    while reader.informer.listing:
        reader.step(cluster)
    return cluster, reader


def test_a_cluster_that_is_older_than_before_proves_no_deletion() -> None:
    _, reader = _watched("north", "south")
    for _ in range(4):
        reader.step(_Cluster())
    assert len(reader.known) == 2
    assert "restored" in reader.doubts[0]


def test_a_revision_of_a_former_process_shows_that_the_cluster_is_older() -> None:
    informer = Informer("100")
    (complete,) = informer.page(Page((), "7", ""))
    assert isinstance(complete, Complete)
    assert "older than 100" in complete.doubt


def test_a_doubt_lasts_until_a_list_is_complete() -> None:
    informer = Informer()
    informer.list_again("another cluster")
    informer.expired()
    (first,) = informer.page(Page((), "7", ""))
    informer.list_again()
    (second,) = informer.page(Page((), "8", ""))
    assert isinstance(first, Complete)
    assert first.doubt == "another cluster"
    assert isinstance(second, Complete)
    assert second.doubt == ""


def test_pages_that_expire_again_and_again_end_in_a_list_in_one_piece() -> None:
    informer = Informer()
    for _ in range(3):
        informer.expired()
    assert informer.request() == ListPage(0, "")


def test_an_event_of_a_former_life_deletes_nothing() -> None:
    cluster, reader = _watched("north")
    cluster.delete("north")
    cluster.put("north")
    reader.step(cluster)
    late = cluster.history[1].object
    reader.take(reader.informer.event(Event("DELETED", late)))
    assert [found.uid for found in reader.known.values()] == ["life-2"]


def test_an_object_that_was_deleted_and_made_again_while_away_is_another() -> None:
    cluster, reader = _watched("north")
    cluster.delete("north")
    cluster.put("north")
    cluster.compact()
    for _ in range(4):
        reader.step(cluster)
    assert [found.uid for found in reader.known.values()] == ["life-2"]
