"""Defines the API server's keys in etcd.

Resources are at ``/<path>/<kind>/<uuid>``, as in ``watch/keys.py``; running compilers watch them. An index outside
every watched prefix, below ``/intentc/apiserver/<path>/``, mirrors the resources' values, and holds what is no input:

    name/<kind>/<fq_name joined by :>            the uuid
    uuid/<uuid>                                  [kind, fq_name]
    holds/<target>/<kind>/<uuid>/<sort>          a child or a reference that blocks the target's deletion
    links/<target>/<kind>/<uuid>/<sort>          one that does not (derived, or relaxed)
    beside/<kind>/<uuid>                         who owns which field of a manifest (``kubernetes``)
    pool/<pool>, pool-owner/…, pool-value/…      numbers (``pools.py``)
    token/sha256/<digest>                        a log-in (``auth.py``)
    pool-share/<pool>/<project>                  how many numbers of a pool a project holds (``pools.py``)
    dangling/<kind>/<uuid>                       a deleted resource that others refer to (``cascading_deletion.py``)
    commit/lock, commit/rest                     the large commit that is under way (``large_commit.py``)

``<sort>`` is ``child`` or ``reference``, the value is the holder's fq_name. So "nothing blocks this deletion" is one
compare over one range. The modules that stage the keys define their values; ``mutation`` writes them.
"""

from __future__ import annotations

from typing import NamedTuple

from intentc.model.names import Key, Name, escaped_segment, stored_segment

CHILD = "child"
REFERENCE = "reference"


class Holder(NamedTuple):
    """A holder of a target, read from an index key: its key, and its sort (``child`` or ``reference``)."""

    key: Key
    sort: str


class Entry(NamedTuple):
    """An index key in parts: its first one (``name``, ``uuid`` …), and what follows."""

    part: str
    rest: str


class Layout:
    """The keys of one server path (``etcd.path``, without slashes around it)."""

    def __init__(self, path: str) -> None:
        path = path.strip("/")
        if not path:
            raise ValueError("the path of the resources is empty; set etcd.path, for example to contrail")
        self.path = path
        self._index = f"/intentc/apiserver/{path}"

    def value(self, key: Key) -> str:
        """The key of one resource."""
        return f"{self.values(key.kind)}{stored_segment(key.uuid)}"

    def uuid(self, key: str) -> str:
        """The uuid in a key of ``value``, in printable form (``escaped_segment``)."""
        return escaped_segment(key.removeprefix(f"/{self.path}/").partition("/")[2])

    def values(self, kind: str) -> str:
        """The prefix of all resources of a kind."""
        return f"/{self.path}/{kind}/"

    def index(self, part: str) -> str:
        """The prefix of all index keys of one part (``name``, ``uuid`` …)."""
        return f"{self._index}/{part}/"

    def parse(self, index_key: str) -> Entry | None:
        """An index key in parts; None if it is another key."""
        if not index_key.startswith(f"{self._index}/"):
            return None
        part, _, rest = index_key[len(self._index) + 1 :].partition("/")
        return Entry(part, rest)

    def name(self, name: Name) -> str:
        """The key of the index from name to uuid."""
        return f"{self._index}/name/{name.kind}/{':'.join(name.fq_name)}"

    def identity(self, uuid: str) -> str:
        """The key of the index from uuid to kind and name."""
        return f"{self._index}/uuid/{uuid}"

    def holds(self, uuid: str) -> str:
        """The prefix of the relations that block a deletion."""
        return f"{self._index}/holds/{uuid}/"

    def links(self, uuid: str) -> str:
        """The prefix of the relations that do not block a deletion."""
        return f"{self._index}/links/{uuid}/"

    def hold(self, target: str, holder: Holder) -> str:
        """The key of a relation that blocks a deletion."""
        return f"{self.holds(target)}{holder.key.kind}/{holder.key.uuid}/{holder.sort}"

    def link(self, target: str, holder: Holder) -> str:
        """The key of a relation that does not block a deletion."""
        return f"{self.links(target)}{holder.key.kind}/{holder.key.uuid}/{holder.sort}"

    def holder(self, index_key: str) -> Holder:
        """The holder in a key of ``hold`` or ``link``."""
        kind, uuid, sort = index_key.rsplit("/", 3)[1:]
        return Holder(Key(kind, uuid), sort)

    def beside(self, key: Key) -> str:
        """The key of what belongs to a resource and is no input of a compiler."""
        return f"{self._index}/beside/{key.kind}/{stored_segment(key.uuid)}"

    def dangling(self, key: Key) -> str:
        """The key that says that references to a deleted resource are still to be removed."""
        return f"{self.all_dangling()}{key.kind}/{stored_segment(key.uuid)}"

    def all_dangling(self) -> str:
        """The prefix of ``dangling`` for all resources."""
        return f"{self._index}/dangling/"

    def commit_lock(self) -> str:
        """The key that exists while a large commit is under way."""
        return f"{self._index}/commit/lock"

    def commit_rest(self) -> str:
        """The key of what a large commit has left to write."""
        return f"{self._index}/commit/rest"

    def pool(self, pool: str) -> str:
        """The key of a pool's ranges."""
        return f"{self._index}/pool/{pool}"

    def pool_owners(self, pool: str) -> str:
        """The prefix of owner → number."""
        return f"{self._index}/pool-owner/{pool}/"

    def pool_share(self, pool: str, project: str) -> str:
        """The key of the count of a project's numbers; without a project, the prefix of all of them."""
        return f"{self._index}/pool-share/{pool}/{project}"

    def pool_values(self, pool: str) -> str:
        """The prefix of number → owner."""
        return f"{self._index}/pool-value/{pool}/"
