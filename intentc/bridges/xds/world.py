"""Decides which version of every element is in force for Envoys, and publishes what changed.

Four rules decide which of the elements in etcd an Envoy is sent. A version that Envoy rejected is not sent again,
unless it is to be retried. A route or listener waits until its clusters are in force, and its former version stays
until then; if a cluster was rejected, it is withdrawn at once, and what needs it falls back to a version that is safe
(``encoding.fallback_routes``, for routes), or to none. A deleted cluster stays while anything in force refers to it,
until every Envoy has answered the change, and until old filter chains that may use it are drained (``draining``).
Changes that belong together are sent together: ``publish`` gives one number to all changes since it was last called.

State: it alone changes the states of elements. ``watch_consumer`` reports what etcd holds, ``session`` what Envoys
accept, ``rejections`` and ``retrying`` what is rejected and tried again; ``serving`` publishes, and writes the records
of ``unrecorded`` elements.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from .addresses import Addresses
from .draining import Draining, StreamProgress
from .element_states import ElementState, ElementStates
from .elements import CLUSTER, LISTENER, ROUTE, TYPE_OF, VIRTUAL_HOST, Key, Type
from .encoding import Version, fallback_routes
from .route_configurations import Assembly
from .served import Resource, Served

_AT_ONCE = 128
"""Elements that are acknowledged without yielding."""


class World:
    """The elements in force.

    ``draining``: how long clusters are kept for old filter chains; None: for Envoy's default drain time. ``progress``:
    how far streams have answered.
    """

    def __init__(
        self, process: str = "", draining: Draining | None = None, progress: StreamProgress | None = None
    ) -> None:
        self.draining = draining or Draining()
        self.progress = progress or StreamProgress()
        self.states = ElementStates()
        """Only read by others."""
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
        self.held: dict[Key, set[str]] = {}
        """Routes and listeners that wait → the clusters that they wait for."""
        self.endpoints_of: dict[str, str] = {}
        """Cluster → the name under which it asks for its endpoints."""
        self._process = process or secrets.token_hex(4)
        self._in_force: dict[Key, Version] = {}
        self._touched: set[Key] = set()
        self._unproven: dict[Type, dict[Key, Version]] = {kind: {} for kind in Type}
        self._carried_by: dict[Key, set[str]] = {}
        self._staged: dict[Type, dict[str, Version | None]] = {kind: {} for kind in Type}
        self._clusters: set[str] = set()
        self._named: defaultdict[tuple[Type, str], set[Key]] = defaultdict(set)
        self._waiting: defaultdict[str, set[Key]] = defaultdict(set)
        self._users: defaultdict[str, set[Key]] = defaultdict(set)
        self._asked_by: defaultdict[str, set[Key]] = defaultdict(set)
        """Route configuration → the listeners in force that name it."""
        self._unused_since: dict[str, int] = {}
        self._leaving: dict[str, Key] = {}
        self._accepted: dict[Key, Version] = {}
        self._unpublished = False
        self._rejected_clusters: dict[Key, str] = {}
        self._retained: dict[Key, str] = {}

    def want(self, key: Key, version: Version | None, rejection: str = "", *, is_recorded: bool = True) -> None:
        """Apply the version of an element that etcd holds now; see ``ElementStates.want``.

        ``is_recorded``: whether etcd has a record of ``rejection``.
        """
        known = self.states.get(key) is not None
        self.states.want(key, version, rejection)
        state = self.states.get(key)
        if state is not None and not known and key in self._accepted:
            # It was created again before Envoys had to remove it.
            self.states.restore(key, self._accepted[key])
        if state is None or state.wanted is state.good or (rejection and not is_recorded):
            self.unrecorded.add(key)
        self._enforce(key)

    def restore(self, key: Key, good: Version) -> None:
        """Note that Envoys had ``good`` in force before this process started."""
        self.states.restore(key, good)
        state = self.states.get(key)
        if state is not None and state.wanted is state.good:
            self.unrecorded.add(key)
        self._enforce(key)

    def reject(self, key: Key, message: str) -> None:
        """Stop offering the wanted version of ``key``, or the fallback that is offered in its place."""
        self.states.reject(key, message)
        self._enforce(key)

    def try_again(self, key: Key) -> None:
        """Offer a rejected version again."""
        self.states.try_again(key)
        self._enforce(key)

    def suspend(self, kind: Type, back: list[Version], suspects: Iterable[Version]) -> None:
        """Set ``back`` to their last good versions until the other ``suspects`` are acknowledged or rejected."""
        self.states.suspend(kind, back, suspects)
        for version in back:
            self._enforce(version.key)

    def _enforce(self, key: Key) -> None:
        """Put the offered version of an element in force, or let it wait for its clusters."""
        state = self.states.get(key)
        offered = state.offered if state is not None else None
        before = self._in_force.get(key)
        for cluster in self.held.pop(key, ()):
            self._waiting[cluster].discard(key)
        self._note_rejection(key, state)
        if offered is before:
            return
        if offered is not None and key[0] in (ROUTE, LISTENER):
            missing = {cluster for cluster in offered.clusters if cluster not in self._clusters}
            if missing:
                self.held[key] = missing
                for cluster in missing:
                    self._waiting[cluster].add(key)
                # A version that Envoy rejects must not stay in force.
                former = before if state is None or before is not state.wanted else None
                stays = self._while_waiting(key, former, offered)
                if stays is not before:
                    self._replace(key, before, stays)
                return
        if offered is None and before is not None and key[0] == CLUSTER:
            if state is not None:
                self._withdraw(before.resource)
            elif not self._may_go(before.resource):
                self._leaving[before.resource] = key
                return
        self._replace(key, before, offered)

    def _note_rejection(self, key: Key, state: ElementState | None) -> None:
        """Note rejected clusters for those that wait, and listeners that Envoys may have from a former process."""
        is_rejected = state is not None and bool(state.rejection)
        name = state.wanted.known_as if state is not None and state.wanted is not None else ""
        if key[0] == CLUSTER and is_rejected != (key in self._rejected_clusters):
            if not is_rejected:
                del self._rejected_clusters[key]
            elif state is not None and state.offered is None:
                self._rejected_clusters[key] = name
                for waiting in sorted(self._waiting.get(name, ())):
                    self._enforce(waiting)
        if key[0] != LISTENER:
            return
        unknown = is_rejected and state is not None and state.wanted is not None and state.last_good is None
        if unknown and state is not None and state.wanted is not None and not state.wanted.element.guards:
            self._retained[key] = name
        elif key in self._retained:
            before = self._retained.pop(key)
            if not self._named.get((Type.LISTENERS, before)):
                self._staged[Type.LISTENERS][before] = None
                self._unpublished = True

    def retains(self, kind: Type, name: str) -> bool:
        """Whether an Envoy keeps what it has under a name, though nothing is in force there.

        That is a listener whose wanted version is rejected, or a cluster that an old filter chain may still use.
        """
        if kind is Type.CLUSTERS:
            return self.draining.keeps(kind, name)
        return kind is Type.LISTENERS and name in self._retained.values()

    def _while_waiting(self, key: Key, former: Version | None, waiting: Version) -> Version | None:
        """The version in force while ``waiting`` lacks clusters: ``former``, or a safe one if a cluster was rejected.

        A rejected cluster may be missing for long. Until it is fixed, no listener with fewer guards stays in force, and
        no wider route answers in place of a route.
        """
        if self.held[key].isdisjoint(self._rejected_clusters.values()):
            return former
        if key[0] == ROUTE:
            return former if former is not None else next(iter(fallback_routes(waiting)), None)
        if former is not None and not set(waiting.element.guards).issubset(former.element.guards):
            return None
        return former

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
        for key in sorted(self._touched):
            self._prove(key)
        self._touched.clear()
        for kind, staged in self._staged.items():
            for name, chosen in staged.items():
                if chosen is None:
                    self._serve(kind, name, None)
                else:
                    self._serve(kind, name, chosen.body, chosen.addresses)
            staged.clear()
        for configuration in sorted(self.assembly.dirty):
            if configuration in self.assembly.configurations:
                self._serve(Type.ROUTES, configuration, self.assembly.assemble(configuration))
                continue
            self.assembly.dirty.discard(configuration)
            drains = self.draining.keeps(Type.ROUTES, configuration) and not self._asked_by.get(configuration)
            if configuration in self.served.resources(Type.ROUTES) and not drains:
                self._serve(Type.ROUTES, configuration, None)
        return True

    def trial(self, kind: Type, names: set[str] | None) -> list[Version]:
        """The versions in the resources ``names`` (None: all) that were published and never acknowledged."""
        on_trial = list(self._unproven[kind].values())
        if names is None:
            return on_trial
        return [one for one in on_trial if not names.isdisjoint(self._carriers(one) | self._carried_by[one.key])]

    def put_on_trial_again(self, versions: Iterable[Version]) -> list[Version]:
        """Put the versions among these that were acknowledged on trial again. Returns them."""
        doubted = self.states.put_on_trial_again(versions)
        for version in doubted:
            self._accepted.pop(version.key, None)
            self._prove(version.key)
        return doubted

    def drop_predecessors(self, versions: Iterable[Version]) -> bool:
        """Replace unacknowledged versions that stay only for others by acknowledged ones; return whether any was."""
        dropped = [version for version in versions if self._predecessor(version.key) is version]
        for version in dropped:
            key, good = version.key, self._accepted.get(version.key)
            there = good is not None and self._clusters.issuperset(good.clusters)
            if key[0] == CLUSTER and not there:
                self._withdraw(version.resource)
            self._replace(key, version, good if there else None)
            if key[0] == CLUSTER and there and self.states.get(key) is None:
                self._leaving[version.resource] = key
        return bool(dropped)

    def _predecessor(self, key: Key) -> Version | None:
        version, state = self._in_force.get(key), self.states.get(key)
        if version is None or version is self._accepted.get(key):
            return None
        if state is not None and (key not in self.held or version is state.good or version is state.offered):
            return None
        return version

    def members(self, kind: Type, names: set[str] | None) -> list[Version]:
        """All versions in the resources ``names`` (None: all)."""
        return [
            version
            for key, version in self._in_force.items()
            if TYPE_OF[key[0]] is kind and (names is None or not names.isdisjoint(self._carriers(version)))
        ]

    def acknowledged(self, kind: Type, trial: Iterable[Version]) -> None:
        """Note that an Envoy accepted a response with these versions."""
        trial = list(trial)
        for version in trial:
            if version.key in self._in_force:
                self._accepted[version.key] = version
            if self._unproven[kind].get(version.key) is version:
                del self._unproven[kind][version.key]
                self._carried_by.pop(version.key, None)
        good_before = {one.key: state.good for one in trial if (state := self.states.get(one.key)) is not None}
        self.unrecorded.update(self.states.acknowledge(trial))
        for key, good in good_before.items():
            state = self.states.get(key)
            if state is not None and state.rejection and state.last_good is not good and state.last_good:
                # Its answer came late, and shows that another version of a rejected element is good.
                self.unrecorded.add(key)
        for version in trial:
            # An element that is set back returns to its last acknowledged version, which may just have changed.
            self._enforce(version.key)
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
        for number, one in enumerate(self.trial(kind, None)):
            if number % _AT_ONCE == _AT_ONCE - 1:
                yield
            carriers = self._carriers(one) | self._carried_by.get(one.key, set())
            revision = max((_revision(known[name]) for name in carriers if name in known), default=-1)
            if one.element.revision <= max(everything, revision) and not one.is_fallback:
                seen.append(one)
        for start in range(0, len(seen), _AT_ONCE):
            self.acknowledged(kind, seen[start : start + _AT_ONCE])
            yield

    def _whole(self, kind: Type) -> bool:
        """Whether every wanted element of a type is in force or rejected: none waits, none is set back."""
        return not self.states.any_suspended(kind) and not any(TYPE_OF[key[0]] is kind for key in self.held)

    def _prove(self, key: Key) -> None:
        version, state, unproven = self._in_force.get(key), self.states.get(key), self._unproven[TYPE_OF[key[0]]]
        proven = version is self._accepted.get(key) or (state is not None and version is state.good)
        if version is None or proven:
            unproven.pop(key, None)
            self._carried_by.pop(key, None)
        else:
            unproven[key] = version
            # As published: a version that is withdrawn meanwhile may still be on its way to an Envoy.
            self._carried_by[key] = self._carriers(version)

    def _carriers(self, version: Version) -> set[str]:
        match version.element.kind:
            case "envoy_route":
                return self.assembly.configurations_with(version)
            case "envoy_virtual_host":
                return {version.element.route_configuration}
        return {version.resource}

    def _replace(self, key: Key, before: Version | None, after: Version | None) -> None:
        kind = TYPE_OF[key[0]]
        self._unpublished = True
        self._touched.add(key)
        if kind is Type.LISTENERS:
            left, taken = (version.addresses if version is not None else () for version in (before, after))
            # A version that Envoy rejected never had the address.
            had = before is not None and before is self._accepted.get(key)
            self.addresses.move(key, left, taken, self.serial + 1 if had else 0)
            self._drain(key, before, after)
        if after is None:
            self._in_force.pop(key, None)
            self._accepted.pop(key, None)
        else:
            self._in_force[key] = after
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
        used = set(after.clusters) if after is not None else set()
        for cluster in used:
            self._users[cluster].add(key)
            self._unused_since.pop(cluster, None)
        for cluster in before.clusters if before is not None else ():
            if cluster not in used:
                self._users[cluster].discard(key)
                if not self._users[cluster]:
                    del self._users[cluster]
                    self._unused_since[cluster] = self.serial + 1

    def _serve_named(self, kind: Type, name: str) -> None:
        """Two elements may share one name briefly, or by mistake: the first in the order of their own names counts."""
        owners = self._named[kind, name]
        if not owners:
            del self._named[kind, name]
        chosen = self._in_force[min(owners)] if owners else None
        self._staged[kind][name] = chosen
        if kind is not Type.CLUSTERS:
            return
        self._leaving.pop(name, None)
        self.endpoints_of.pop(name, None)
        (self._clusters.discard if chosen is None else self._clusters.add)(name)
        if chosen is None:
            return
        if chosen.endpoints:
            self.endpoints_of[name] = chosen.endpoints
        for waiting in sorted(self._waiting.pop(name, ())):
            self._enforce(waiting)

    def _serve(self, kind: Type, name: str, body: bytes | None, addresses: tuple[str, ...] = ()) -> None:
        resource = None if body is None else Resource(name, self.version(kind), body, addresses)
        self.served.serve(kind, name, resource, self.serial)

    def _may_go(self, cluster: str) -> bool:
        """Whether nothing in force refers to a cluster, and no Envoy may still have what did."""
        if cluster in self._users or self.draining.keeps(Type.CLUSTERS, cluster):
            return False
        return self.progress.answered(self.serial) >= self._unused_since.get(cluster, 0)

    def _withdraw(self, cluster: str) -> None:
        """Withdraw a rejected cluster at once. Unacknowledged versions that refer to it fall back, or wait."""
        self._clusters.discard(cluster)
        for key in sorted(self._users.get(cluster, ())):
            state, version = self.states.get(key), self._in_force[key]
            # An aggregate cluster continues with the clusters that exist.
            if state is None or state.good is version or key[0] == CLUSTER:
                continue
            good = state.good
            fallback = good if good is not None and self._clusters.issuperset(good.clusters) else None
            self.held[key] = {cluster}
            self._waiting[cluster].add(key)
            self._replace(key, version, self._while_waiting(key, fallback, version))

    def _release(self, kind: Type) -> None:
        def carried(version: Version) -> bool:
            return self._in_force.get(version.key) is version and bool(self._carriers(version))

        for key in self.states.release(kind, carried):
            self._enforce(key)

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
                self._staged[kind][name] = None
                self._unpublished = True
        for cluster, key in list(self._leaving.items()):
            state = self.states.get(key)
            if state is not None and state.offered is not None:
                del self._leaving[cluster]
            elif self._may_go(cluster):
                self._replace(key, self._in_force.get(key), None)
                self._unused_since.pop(cluster, None)


def _revision(version: str) -> int:
    """The revision of etcd in a version that ``World.version`` wrote; -1 for a version of another server."""
    revision = version.partition(".")[0]
    return int(revision) if revision.isdecimal() else -1
