"""What is to be written, from what a cluster and etcd have: by cases, and whatever the order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from intentc.bridges.kubernetes.mirror import DeleteLimits, Mirror, Removal, Stored, Wanted, Write
from intentc.bridges.kubernetes.wire import Identity
from intentc.model import Key

NORTH = Identity("valley", "north")


def _wanted(content: str = "a", identity: Identity = NORTH) -> Wanted:
    return Wanted(identity, content.encode(), b"{}")


def _stored(content: str = "a", identity: Identity = NORTH, *, mirrored: bool = True, revision: int = 1) -> Stored:
    return Stored(identity, content.encode(), mirrored, revision)


def _farm(uid: str) -> Key:
    return Key("farm", uid)


def _listed(mirror: Mirror, *uids: str, doubt: str = "", revision: int = 1) -> None:
    mirror.listed("farm", frozenset(uids), doubt, revision)


def test_an_object_is_written_until_etcd_holds_what_it_says() -> None:
    mirror, key = Mirror(), _farm("u")
    mirror.put(key, _wanted("a"))
    assert mirror.plan(key) == Write(key, b"{}", b"a")
    mirror.stored(key, _stored("a"))
    assert mirror.plan(key) is None
    mirror.put(key, _wanted("b"))
    assert isinstance(mirror.plan(key), Write)


def test_the_same_content_again_needs_no_look() -> None:
    mirror, key = Mirror(), _farm("u")
    mirror.put(key, _wanted())
    assert mirror.take_dirty() == (key,)
    mirror.put(key, _wanted())
    assert not mirror.has_dirty


def test_a_copy_that_somebody_changed_is_repaired() -> None:
    mirror, key = Mirror(), _farm("u")
    mirror.put(key, _wanted("a"))
    mirror.stored(key, _stored("changed"))
    assert isinstance(mirror.plan(key), Write)


def test_a_deletion_that_was_seen_is_carried_out() -> None:
    mirror, key = Mirror(), _farm("u")
    mirror.stored(key, _stored(revision=7))
    mirror.deleted(key)
    assert mirror.plan(key) == Removal(key, 7)
    mirror.stored(key, None)
    assert mirror.plan(key) is None


def test_before_a_complete_list_nothing_is_deleted() -> None:
    mirror, key = Mirror(), _farm("u")
    mirror.stored(key, _stored())
    assert mirror.plan(key) is None
    _listed(mirror)
    assert isinstance(mirror.plan(key), Removal)


def test_a_resource_that_no_bridge_wrote_is_never_deleted() -> None:
    mirror, key = Mirror(), _farm("u")
    mirror.stored(key, _stored(mirrored=False))
    _listed(mirror)
    mirror.deleted(key)
    assert mirror.plan(key) is None


def test_a_copy_that_is_newer_than_the_list_needs_another_one() -> None:
    mirror, key = Mirror(), _farm("u")
    mirror.stored(key, _stored(revision=5))
    _listed(mirror, revision=4)
    assert mirror.plan(key) is None
    assert mirror.unexplained == {"farm"}
    _listed(mirror, revision=5)
    assert isinstance(mirror.plan(key), Removal)
    assert not mirror.unexplained


def test_a_copy_that_appears_without_an_object_needs_another_list() -> None:
    mirror, key = Mirror(), _farm("u")
    _listed(mirror)
    mirror.stored(key, _stored(revision=9))
    assert mirror.plan(key) is None
    assert mirror.unexplained == {"farm"}


def test_a_list_in_doubt_deletes_nothing_until_it_is_approved() -> None:
    mirror, key = Mirror(), _farm("u")
    mirror.stored(key, _stored())
    _listed(mirror, doubt="another cluster")
    _listed(mirror)
    assert mirror.plan(key) is None
    assert mirror.withheld["farm"].reason == "another cluster"
    assert mirror.approve("farm") == 1
    assert isinstance(mirror.plan(key), Removal)


def test_a_list_that_would_delete_many_is_held() -> None:
    mirror = Mirror(DeleteLimits(2, 50.0))
    for number in range(4):
        mirror.stored(_farm(f"u{number}"), _stored(identity=Identity("valley", f"n{number}")))
    _listed(mirror, "u0")
    assert all(mirror.plan(_farm(f"u{number}")) is None for number in range(4))
    assert mirror.withheld["farm"].reason == "the list lacks 3 of 4 that were mirrored"


def test_an_object_that_is_there_again_is_withheld_no_longer() -> None:
    mirror, key = Mirror(), _farm("u")
    mirror.stored(key, _stored())
    _listed(mirror, doubt="another cluster")
    mirror.put(key, _wanted())
    assert not mirror.withheld


def test_an_object_with_the_name_of_a_former_one_waits_until_that_is_deleted() -> None:
    mirror, old, new = Mirror(), _farm("old"), _farm("new")
    mirror.stored(old, _stored())
    mirror.put(new, _wanted())
    assert mirror.plan(new) is None
    assert isinstance(mirror.plan(old), Removal)
    mirror.take_dirty()
    mirror.stored(old, None)
    assert new in mirror.take_dirty()
    assert isinstance(mirror.plan(new), Write)


def test_a_name_that_a_person_took_is_reported() -> None:
    mirror = Mirror()
    mirror.stored(_farm("persons"), _stored(mirrored=False))
    mirror.put(_farm("u"), _wanted())
    assert mirror.plan(_farm("u")) is None
    assert mirror.plan(_farm("persons")) is None
    assert list(mirror.taken_names("farm")) == [(NORTH, "persons")]


def test_the_copy_of_an_object_that_can_t_be_copied_stays() -> None:
    mirror, key = Mirror(), _farm("u")
    mirror.stored(key, _stored())
    mirror.cannot_copy(key, NORTH, "spec: Expected `object`")
    _listed(mirror, "u")
    assert mirror.plan(key) is None
    assert mirror.unusable == {key: (NORTH, "spec: Expected `object`")}


_NAMES = ("north", "south")
_STEPS = st.lists(
    st.tuples(st.sampled_from(["create", "change", "delete", "list", "write", "echo", "see"]), st.integers(0, 5)),
    max_size=60,
)


class _World:
    """A cluster that the mirror hears of late, and an etcd that does what it says, late."""

    def __init__(self) -> None:
        self.mirror = Mirror()
        self.cluster: dict[str, tuple[str, int]] = {}
        self.etcd: dict[str, Stored] = {}
        self.revision = 0
        self._lives = 0
        self._queue: dict[Key, None] = {}
        self._unseen: list[tuple[str, Wanted | None]] = []
        self._echoes: list[tuple[str, Stored | None]] = []

    def step(self, what: str, number: int) -> None:
        name = _NAMES[number % 2]
        uid = next((uid for uid, (named, _) in self.cluster.items() if named == name), "")
        match what:
            case "create" if not uid:
                self._lives += 1
                self._have(f"life-{self._lives}", name, 0)
            case "change" if uid:
                self._have(uid, name, self.cluster[uid][1] + 1)
            case "delete" if uid:
                del self.cluster[uid]
                self._unseen.append((uid, None))
            case "see":
                self._see(1)
            case "list":
                # A list shows the present: events before it come late, and mean nothing then.
                seen_up_to = max((one.revision for uid, one in self._known()), default=0)
                self._unseen.clear()
                for uid, (named, content) in self.cluster.items():
                    self.mirror.put(_farm(uid), _wanted(str(content), Identity("valley", named)))
                _listed(self.mirror, *self.cluster, revision=seen_up_to)
            case "write":
                self._queue |= dict.fromkeys(self.mirror.take_dirty())
                for key in [*self._queue][: 1 + number]:
                    del self._queue[key]
                    self._write(key)
            case "echo":
                self._echo(1)

    def settle(self) -> None:
        for _ in range(6):
            self._see(len(self._unseen))
            self._echo(len(self._echoes))
            self.step("list", 0)
            self.step("write", 99)

    def _known(self) -> list[tuple[str, Stored]]:
        pending = {uid for uid, _ in self._echoes}
        return [(uid, one) for uid, one in self.etcd.items() if uid not in pending]

    def _have(self, uid: str, name: str, content: int) -> None:
        self.cluster[uid] = (name, content)
        self._unseen.append((uid, _wanted(str(content), Identity("valley", name))))

    def _see(self, number: int) -> None:
        for uid, wanted in self._unseen[:number]:
            if wanted is None:
                self.mirror.deleted(_farm(uid))
            else:
                self.mirror.put(_farm(uid), wanted)
        del self._unseen[:number]

    def _write(self, key: Key) -> None:
        planned = self.mirror.plan(key)
        if planned is None:
            return
        self.revision += 1
        if isinstance(planned, Removal):
            self.etcd.pop(key.uuid, None)
            self._echoes.append((key.uuid, None))
            return
        identity = self.mirror._wanted["farm"][key.uuid].identity
        if any(one.identity == identity for uid, one in self.etcd.items() if uid != key.uuid):
            self._queue[key] = None
            return
        self.etcd[key.uuid] = Stored(identity, planned.digest, True, self.revision)
        self._echoes.append((key.uuid, self.etcd[key.uuid]))

    def _echo(self, number: int) -> None:
        for uid, stored in self._echoes[:number]:
            self.mirror.stored(_farm(uid), stored)
        del self._echoes[:number]


@given(_STEPS)
def test_whatever_the_order_etcd_ends_with_what_the_cluster_has(steps: list[tuple[str, int]]) -> None:
    world = _World()
    for what, number in steps:
        world.step(what, number)
    world.settle()
    copies = {uid: (one.identity.name, int(one.digest)) for uid, one in world.etcd.items()}
    assert copies == world.cluster
    assert all(world.mirror.plan(_farm(uid)) is None for uid in [*world.etcd, *world.cluster])
