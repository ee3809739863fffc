"""Decides which version of every element is in force for Envoys, and publishes what changed.

Four rules decide which of the elements in etcd an Envoy is sent. A version that Envoy rejected is not sent again,
unless it is to be retried. A route or listener waits until its clusters are in force, and its former version stays
until then; if a cluster was rejected, it is withdrawn at once, and what needs it falls back to a version that is safe
(``encoding.fallback_routes``, for routes), or to none. A deleted cluster stays while anything in force refers to it,
until every Envoy has answered the change, and until old filter chains that may use it are drained (``draining``).
Changes that belong together are sent together: ``publish`` gives one number to all changes since it was last called.

State: it alone changes the states of elements. ``watch_consumer`` reports what etcd holds, ``session`` what Envoys
accept, ``rejections`` what is rejected and tried again; ``serving`` publishes, and ``rejection_records`` writes the
records of ``unrecorded`` elements.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from .draining import Addresses, Draining, StreamProgress
from .element_states import ElementState, Phase, Search, safe_meanwhile
from .elements import CLUSTER, LISTENER, ROUTE, TYPE_OF, VIRTUAL_HOST, Key, Type
from .encoding import Version
from .route_configurations import Assembly
from .served import Served

_AT_ONCE = 128
"""Elements that are acknowledged without yielding."""


class _Cluster:
    """A cluster by its name in Envoy.

    ``version``: the one in force; ``users``: elements in force that refer to it; ``waiting``: elements that wait for
    it; ``unused_since``: the publication from which on nothing in force refers to it.
    """

    __slots__ = ("unused_since", "users", "version", "waiting")

    def __init__(self) -> None:
        self.version: Version | None = None
        self.users: set[Key] = set()
        self.waiting: set[Key] = set()
        self.unused_since = 0


class SnapshotCache:
    """The elements in force.

    ``draining``: how long clusters are kept for old filter chains; None: for Envoy's default drain time. ``progress``:
    how far streams have answered.
    """

    def __init__(
        self, process: str = "", draining: Draining | None = None, progress: StreamProgress | None = None
    ) -> None:
        self.draining = draining or Draining()
        self.progress = progress or StreamProgress()
        self.assembly = Assembly()
        self.addresses = Addresses()
        self.served = Served()
        self.serial = 0
        """The number of the last ``publish``."""
        self.revision = 0
        """The revision of etcd that was applied last."""
        self.published = 0
        """The revision of etcd up to which everything is published."""
        self.streams = self.progress.streams
        self.unrecorded: set[Key] = set()
        """Elements that were accepted, rejected or deleted since their records were last written."""
        self.rejected: dict[Key, ElementState] = {}
        """The elements that are rejected now; only read by others."""
        self._process = process or secrets.token_hex(4)
        self._states: dict[Key, ElementState] = {}
        self._searches = {kind: Search() for kind in Type}
        self._waiting: dict[Key, ElementState] = {}
        self._unproven: dict[Type, dict[Key, ElementState]] = {kind: {} for kind in Type}
        self._touched: dict[Key, ElementState] = {}
        self._clusters: defaultdict[str, _Cluster] = defaultdict(_Cluster)
        self._rejected_clusters: dict[Key, str] = {}
        self._leaving: dict[str, ElementState] = {}
        """Name of a deleted cluster that stays for a while → its state."""
        self._named: defaultdict[tuple[Type, str], set[Key]] = defaultdict(set)
        self._asked_by: defaultdict[str, set[Key]] = defaultdict(set)
        """Route configuration → the listeners in force that name it."""
        self._unpublished = False

    def state(self, key: Key) -> ElementState | None:
        """The state of an element in etcd, only to be read; None if etcd doesn't hold it."""
        state = self._states.get(key)
        return state if state is not None and state.wanted is not None else None

    @property
    def number(self) -> int:
        """The number of elements in etcd."""
        return sum(state.wanted is not None for state in self._states.values())

    @property
    def held(self) -> dict[Key, frozenset[str]]:
        """Routes and listeners that wait → the clusters that they wait for."""
        return {key: state.waits_for for key, state in self._waiting.items()}

    def endpoints_of(self, clusters: Iterable[str]) -> frozenset[str]:
        """The names under which those of these clusters that are in force ask for their endpoints."""
        found = (self._clusters[name].version for name in clusters if name in self._clusters)
        return frozenset(version.endpoints for version in found if version is not None and version.endpoints)

    def want(self, key: Key, version: Version | None, rejection: str = "", *, is_recorded: bool = True) -> None:
        """Apply the version of an element that etcd holds now; see ``ElementState.want``.

        ``is_recorded``: whether etcd has a record of ``rejection``.
        """
        state = self._states.setdefault(key, ElementState(key))
        was_deleted = state.phase is Phase.DELETED
        state.want(version, rejection)
        if was_deleted and version is not None and state.accepted is not None:
            # It was created again before Envoys had to remove it.
            state.restore(state.accepted)
        if state.phase in (Phase.DELETED, Phase.ACCEPTED) or (rejection and not is_recorded):
            self.unrecorded.add(key)
        self._enforce(state)

    def restore(self, key: Key, good: Version) -> None:
        """Note that Envoys had ``good`` in force before this process started."""
        state = self._states[key]
        state.restore(good)
        if state.phase is Phase.ACCEPTED:
            self.unrecorded.add(key)
        self._enforce(state)

    def reject(self, key: Key, message: str) -> None:
        """Stop offering the wanted version of ``key``, or the fallback that is offered in its place."""
        self._searches[TYPE_OF[key[0]]].found = True
        state = self._states[key]
        state.reject(message)
        self._enforce(state)

    def try_again(self, key: Key) -> None:
        """Offer a rejected version again."""
        state = self._states[key]
        state.try_again()
        self._enforce(state)

    def suspend(self, kind: Type, back: list[Version], suspects: Iterable[Version]) -> None:
        """Set ``back`` to their last good versions until the other ``suspects`` are acknowledged or rejected."""
        states = [self._states[version.key] for version in back]
        self._searches[kind].set_back(states, [self._states[version.key] for version in suspects])
        for state in states:
            self._enforce(state)

    def _enforce(self, state: ElementState) -> None:
        """Put the offered version of an element in force, or let it wait for its clusters."""
        before, offered, kind = state.in_force, state.offered, state.key[0]
        self._wait(state, frozenset())
        self._note_rejection(state)
        if offered is before:
            self._forget(state)
            return
        if offered is not None and kind in (ROUTE, LISTENER):
            missing = frozenset(name for name in offered.clusters if not self._has(name))
            if missing:
                self._wait(state, missing)
                # A version that Envoy rejects must not stay in force.
                former = before if before is not state.wanted else None
                stays = self._while_waiting(state, former, offered)
                if stays is not before:
                    self._replace(state, stays)
                return
        if offered is None and before is not None and kind == CLUSTER:
            if state.wanted is not None:
                self._withdraw(before.resource)
            elif not self._may_go(before.resource):
                self._leaving[before.resource] = state
                return
        self._replace(state, offered)

    def _forget(self, state: ElementState) -> None:
        """Forget a deleted element that no Envoy has any more."""
        if state.wanted is None and state.in_force is None and state.unproven is None:
            self._states.pop(state.key, None)

    def _has(self, cluster: str) -> bool:
        """Whether a cluster is in force."""
        return cluster in self._clusters and self._clusters[cluster].version is not None

    def _wait(self, state: ElementState, clusters: frozenset[str]) -> None:
        """Let an element wait for these clusters; none: it waits no longer."""
        for cluster in state.waits_for - clusters:
            self._clusters[cluster].waiting.discard(state.key)
            self._forget_cluster(cluster)
        for cluster in clusters:
            self._clusters[cluster].waiting.add(state.key)
        state.waits_for = clusters
        if clusters:
            self._waiting[state.key] = state
        else:
            self._waiting.pop(state.key, None)

    def _forget_cluster(self, name: str) -> None:
        known = self._clusters[name]
        if known.version is None and not known.users and not known.waiting:
            del self._clusters[name]

    def _note_rejection(self, state: ElementState) -> None:
        """Note rejected elements, and listeners that Envoys may have from a former process."""
        key, is_rejected = state.key, state.phase is Phase.REJECTED
        if is_rejected:
            self.rejected[key] = state
        else:
            self.rejected.pop(key, None)
            self._rejected_clusters.pop(key, None)
        name = state.wanted.known_as if is_rejected and state.wanted is not None else ""
        if key[0] == CLUSTER and is_rejected and state.offered is None and key not in self._rejected_clusters:
            self._rejected_clusters[key] = name
            self._enforce_waiting(name)
        if key[0] != LISTENER:
            return
        before, guards = state.retained_as, state.wanted.element.guards if state.wanted is not None else ()
        state.retained_as = name if is_rejected and state.last_good is None and not guards else ""
        if before and not state.retained_as and not self._named.get((Type.LISTENERS, before)):
            self.served.stage(Type.LISTENERS, before, None)
            self._unpublished = True

    def _enforce_waiting(self, cluster: str) -> None:
        """Decide again about the elements that wait for a cluster."""
        for key in sorted(self._clusters[cluster].waiting) if cluster in self._clusters else ():
            self._enforce(self._states[key])

    def retains(self, kind: Type, name: str) -> bool:
        """Whether an Envoy keeps what it has under a name, though nothing is in force there.

        That is a listener whose wanted version is rejected, or a cluster that an old filter chain may still use.
        """
        if kind is Type.CLUSTERS:
            return self.draining.keeps(kind, name)
        return kind is Type.LISTENERS and any(state.retained_as == name for state in self.rejected.values())

    def _while_waiting(self, state: ElementState, former: Version | None, waiting: Version) -> Version | None:
        """The version in force while ``waiting`` lacks clusters: ``former``, or a safe one if one was rejected."""
        was_rejected = not state.waits_for.isdisjoint(self._rejected_clusters.values())
        return safe_meanwhile(former, waiting) if was_rejected else former

    def publish(self) -> bool:
        """Publish what is in force to the streams; returns False if nothing has changed since the last time."""
        for kind in Type:
            self._release(kind)
        self._let_go()
        self.published = self.revision
        if not self._unpublished and not self.assembly.dirty:
            return False
        self._unpublished = False
        self.serial += 1
        for _, state in sorted(self._touched.items()):
            self._prove(state)
            self._forget(state)
        self._touched.clear()
        for configuration in sorted(self.assembly.dirty):
            if configuration in self.assembly.configurations:
                self.served.stage(Type.ROUTES, configuration, self.assembly.assemble(configuration))
                continue
            self.assembly.dirty.discard(configuration)
            drains = self.draining.keeps(Type.ROUTES, configuration) and not self._asked_by.get(configuration)
            if configuration in self.served.resources(Type.ROUTES) and not drains:
                self.served.stage(Type.ROUTES, configuration, None)
        self.served.publish({kind: self.version(kind) for kind in Type}, self.serial)
        return True

    def trial(self, kind: Type, names: set[str] | None) -> list[Version]:
        """The versions in the resources ``names`` (None: all) that were published and never acknowledged."""
        return [
            version
            for state in self._unproven[kind].values()
            if (version := state.unproven) is not None
            and (names is None or not names.isdisjoint(self._carriers(version) | state.carried_by))
        ]

    def put_on_trial_again(self, versions: Iterable[Version]) -> list[Version]:
        """Put the versions among these that were acknowledged on trial again. Returns them."""
        doubted = [version for version in versions if self._states[version.key].put_on_trial_again(version)]
        for version in doubted:
            self._prove(self._states[version.key])
        return doubted

    def drop_predecessors(self, versions: Iterable[Version]) -> bool:
        """Replace unacknowledged versions that stay only for others by acknowledged ones; return whether any was."""
        dropped = [
            (state, version)
            for version in versions
            if (state := self._states.get(version.key)) is not None
            and state.in_force is version
            and state.is_predecessor
        ]
        for state, version in dropped:
            good, is_cluster = state.accepted, state.key[0] == CLUSTER
            there = good is not None and all(map(self._has, good.clusters))
            if is_cluster and not there:
                self._withdraw(version.resource)
            self._replace(state, good if there else None)
            if is_cluster and there and state.wanted is None:
                self._leaving[version.resource] = state
        return bool(dropped)

    def members(self, kind: Type, names: set[str] | None) -> list[Version]:
        """All versions in the resources ``names`` (None: all)."""
        return [
            version
            for key, state in self._states.items()
            if TYPE_OF[key[0]] is kind
            and (version := state.in_force) is not None
            and (names is None or not names.isdisjoint(self._carriers(version)))
        ]

    def acknowledged(self, kind: Type, trial: Iterable[Version]) -> None:
        """Note that an Envoy accepted a response with these versions."""
        known = [(self._states[version.key], version) for version in trial if version.key in self._states]
        for state, version in known:
            if state.acknowledge(version):
                self.unrecorded.add(state.key)
            if state.unproven is version:
                self._set_unproven(state, None)
        for state, _ in known:
            # An element that is set back returns to its last acknowledged version, which may just have changed.
            self._enforce(state)
        self._release(kind)

    def version(self, kind: Type) -> str:
        """The version of a type, or of one resource of it, in responses.

        It begins with etcd's revision, so that an Envoy can report to another process what it has accepted (0 while an
        element waits or is set back). The rest makes it unique.
        """
        revision = self.revision if self._whole(kind) else 0
        return f"{revision}.{self._process}.{self.serial}"

    def recall(self, kind: Type, version: str, known: Mapping[str, str]) -> Iterator[None]:
        """Acknowledge what an Envoy accepted on a former stream, of this process or another one.

        It accepted all resources of a type under ``version``, and those that it names under the versions in ``known``:
        what is on trial in them and existed at those revisions is good. Yields after each part, so that other tasks can
        run.
        """
        everything, seen = _revision(version), []
        for number, state in enumerate(list(self._unproven[kind].values())):
            if number % _AT_ONCE == _AT_ONCE - 1:
                yield
            one = state.unproven
            if one is None or one.is_fallback:
                continue
            carriers = self._carriers(one) | state.carried_by
            revision = max((_revision(known[name]) for name in carriers if name in known), default=-1)
            if one.element.revision <= max(everything, revision):
                seen.append(one)
        for start in range(0, len(seen), _AT_ONCE):
            self.acknowledged(kind, seen[start : start + _AT_ONCE])
            yield

    def _whole(self, kind: Type) -> bool:
        """Whether every wanted element of a type is in force or rejected: none waits, none is set back."""
        return not self._searches[kind].is_running and not any(TYPE_OF[key[0]] is kind for key in self._waiting)

    def _prove(self, state: ElementState) -> None:
        version = state.in_force
        self._set_unproven(state, None if version is state.accepted or version is state.good else version)

    def _set_unproven(self, state: ElementState, version: Version | None) -> None:
        state.unproven, unproven = version, self._unproven[TYPE_OF[state.key[0]]]
        if version is None:
            unproven.pop(state.key, None)
            state.carried_by = frozenset()
        else:
            unproven[state.key] = state
            # As published: a version that is withdrawn meanwhile may still be on its way to an Envoy.
            state.carried_by = frozenset(self._carriers(version))

    def _carriers(self, version: Version) -> set[str]:
        match version.element.kind:
            case "envoy_route":
                return self.assembly.configurations_with(version)
            case "envoy_virtual_host":
                return {version.element.route_configuration}
        return {version.resource}

    def _replace(self, state: ElementState, after: Version | None) -> None:
        key, before, kind = state.key, state.in_force, TYPE_OF[state.key[0]]
        self._unpublished = True
        self._touched[key] = state
        if kind is Type.LISTENERS:
            left, taken = (version.addresses if version is not None else () for version in (before, after))
            # A version that Envoy rejected never had the address.
            had = before is not None and before is state.accepted
            self.addresses.move(key, left, taken, self.serial + 1 if had else 0)
            self._drain(key, before, after)
        state.in_force = after
        if after is None:
            state.accepted = None
        if key[0] == ROUTE:
            self.assembly.put_route(key[1], after)
        elif key[0] == VIRTUAL_HOST:
            self.assembly.put_virtual_host(key[1], after)
        else:
            for version in (before, after):
                if version is not None:
                    owners = self._named[kind, version.resource]
                    (owners.add if version is after else owners.discard)(key)
            for name in {version.resource for version in (before, after) if version is not None}:
                self._serve_named(kind, name)
        used, left_ = (set(version.clusters) if version is not None else set() for version in (after, before))
        for name in used:
            self._clusters[name].users.add(key)
            self._clusters[name].unused_since = 0
        for name in left_ - used:
            users = self._clusters[name].users
            users.discard(key)
            if not users:
                self._clusters[name].unused_since = self.serial + 1
                self._forget_cluster(name)

    def _serve_named(self, kind: Type, name: str) -> None:
        """Two elements may share one name briefly, or by mistake: the first in the order of their own names counts."""
        owners = self._named[kind, name]
        if not owners:
            del self._named[kind, name]
        chosen = self._states[min(owners)].in_force if owners else None
        if chosen is None:
            self.served.stage(kind, name, None)
        else:
            self.served.stage(kind, name, chosen.body, chosen.addresses)
        if kind is not Type.CLUSTERS:
            return
        self._leaving.pop(name, None)
        self._clusters[name].version = chosen
        if chosen is None:
            self._forget_cluster(name)
        else:
            self._enforce_waiting(name)

    def _may_go(self, cluster: str) -> bool:
        """Whether nothing in force refers to a cluster, and no Envoy may still have what did."""
        known = self._clusters[cluster]
        if known.users or self.draining.keeps(Type.CLUSTERS, cluster):
            return False
        return self.progress.answered(self.serial) >= known.unused_since

    def _withdraw(self, cluster: str) -> None:
        """Withdraw a rejected cluster at once. Unacknowledged versions that refer to it fall back, or wait."""
        self._clusters[cluster].version = None
        for key in sorted(self._clusters[cluster].users):
            state = self._states[key]
            version, good = state.in_force, state.good
            # An aggregate cluster continues with the clusters that exist.
            if version is None or state.wanted is None or good is version or key[0] == CLUSTER:
                continue
            fallback = good if good is not None and all(map(self._has, good.clusters)) else None
            self._wait(state, frozenset({cluster}))
            self._replace(state, self._while_waiting(state, fallback, version))

    def _release(self, kind: Type) -> None:
        """Go on with a search once no suspect is pending that an Envoy is sent."""
        search = self._searches[kind]
        for state in search.pending:
            version = state.offered
            is_sent = version is not None and version is state.in_force and bool(self._carriers(version))
            if is_sent and version is not state.good:
                return
        for state in search.release():
            self._enforce(state)

    def _drain(self, listener: Key, before: Version | None, after: Version | None) -> None:
        """Keep names that ``listener`` no longer uses for its old filter chains."""
        left, taken = (one.names if one is not None else frozenset() for one in (before, after))
        for kind, name in left - taken:
            self.draining.keep(kind, name, self.serial + 1)
        for name in {name for kind, name in left ^ taken if kind is Type.ROUTES}:
            (self._asked_by[name].add if (Type.ROUTES, name) in taken else self._asked_by[name].discard)(listener)
            if name not in self.assembly.configurations:
                # Whether its last version is kept may have changed.
                self.assembly.dirty.add(name)

    def _let_go(self) -> None:
        self.draining.answered(self.progress.answered(self.serial))
        for kind, name in self.draining.ended():
            if kind is Type.ROUTES:
                self.assembly.dirty.add(name)
            elif (kind, name) not in self._named:
                # Envoys may have it from a former process.
                self.served.stage(kind, name, None)
                self._unpublished = True
        for cluster, state in list(self._leaving.items()):
            if state.offered is not None:
                del self._leaving[cluster]
            elif self._may_go(cluster):
                self._replace(state, None)


def _revision(version: str) -> int:
    """The revision of etcd in a version that ``SnapshotCache.version`` wrote; -1 for a version of another server."""
    revision = version.partition(".")[0]
    return int(revision) if revision.isdecimal() else -1
