"""What is in force: of every element the version that Envoys are told, by discovery type, and what changed when.

Why it exists: between what stands in etcd and what an Envoy may be told lie four rules. What Envoy refused is not told
again (``standing``). A route or listener waits until its clusters are there, and until then its former version stays. A
cluster that is gone stays as long as something in force refers to it, until every Envoy has let go of it, and until old
filter chains that may ask it are drained (``draining``). And what is told at once was published at once: ``publish``
gives everything since the last time one number, from which a stream finds what it has to tell, whatever it has missed.

Pure and synchronous: who is connected, and when to publish, is left to ``session`` and ``serving``.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from .addresses import Addresses
from .answers import Answers
from .assembly import Assembly
from .draining import Draining
from .element_states import Key, Standing, Standings
from .encoding import Version
from .fallback_routes import stand_ins
from .kinds import CLUSTER, LISTENER, ROUTE, TYPE_OF, VIRTUAL_HOST, Type

_NONE = "none"
_GONE_KEPT = 1_024
"""Names that are remembered of what went, besides twice as many as there are."""
_AT_ONCE = 128
"""Elements that are acknowledged in one go."""


class Resource(NamedTuple):
    """What Envoy is sent under a name. ``body``: an ``Any``; ``version``: see ``World.version``; ``addresses``: where a
    listener listens."""

    name: str
    version: str
    body: bytes
    addresses: tuple[str, ...] = ()


class World:
    """Elements in force. ``on_settled`` is told each element that was acknowledged after having been on trial, or that
    is gone. ``draining``: how long clusters are kept for old filter chains; None: for Envoy's default drain time.
    ``answers``: how far streams have answered."""

    def __init__(self, process: str = "", draining: Draining | None = None, answers: Answers | None = None) -> None:
        self.draining = draining or Draining()
        self.answers = answers or Answers()
        self.standings = Standings()
        self.assembly = Assembly()
        self.addresses = Addresses()
        self.serial = 0
        """Of the last ``publish``."""
        self.revision = 0
        """Of etcd, that was applied last."""
        self.published = 0
        """The revision of etcd up to which everything was published."""
        self.streams = self.answers.streams
        self.on_settled: Callable[[Key], None] = lambda key: None
        self.on_regained: Callable[[Key], None] = lambda key: None
        """Told each refused element of which a version turns out to have been good: the answer to that came late."""
        self.held: dict[Key, set[str]] = {}
        """Routes and listeners that wait, with the clusters that they wait for."""
        self.endpoints_of: dict[str, str] = {}
        """Cluster → the name under which it asks for its endpoints."""
        self._served: dict[Type, dict[str, Resource]] = {kind: {} for kind in Type}
        self._changes: dict[Type, dict[str, int]] = {kind: {} for kind in Type}
        self._forgotten: dict[Type, int] = dict.fromkeys(Type, 0)
        """The serial up to which it is not known any more what went."""
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
        self._refused_clusters: dict[Key, str] = {}
        self._left_alone: dict[Key, str] = {}

    def want(self, key: Key, version: Version | None, refused: str = "") -> None:
        """An element as it stands in etcd now; see ``Standings.want``."""
        known = self.standings.get(key) is not None
        self.standings.want(key, version, refused)
        standing = self.standings.get(key)
        if standing is not None and not known and key in self._accepted:
            # It is back before Envoys had to let go of it.
            self.standings.restore(key, self._accepted[key])
        if standing is None or standing.wanted is standing.good:
            self.on_settled(key)
        self.enforce(key)

    def restore(self, key: Key, good: Version) -> None:
        """``good`` was in force before we began."""
        self.standings.restore(key, good)
        standing = self.standings.get(key)
        if standing is not None and standing.wanted is standing.good:
            self.on_settled(key)
        self.enforce(key)

    def enforce(self, key: Key) -> None:
        """Put in force what is offered of an element, or find out for what it has to wait."""
        standing = self.standings.get(key)
        offered = standing.offered if standing is not None else None
        before = self._in_force.get(key)
        for cluster in self.held.pop(key, ()):
            self._waiting[cluster].discard(key)
        self._note_refusal(key, standing)
        if offered is before:
            return
        if offered is not None and key[0] in (ROUTE, LISTENER):
            missing = {cluster for cluster in offered.clusters if cluster not in self._clusters}
            if missing:
                self.held[key] = missing
                for cluster in missing:
                    self._waiting[cluster].add(key)
                # What Envoy refuses is no former version to stay with.
                former = before if standing is None or before is not standing.wanted else None
                stays = self._while_waiting(key, former, offered)
                if stays is not before:
                    self._replace(key, before, stays)
                return
        if offered is None and before is not None and key[0] == CLUSTER:
            if standing is not None:
                self._withdraw(before.resource)
            elif not self._may_go(before.resource):
                self._leaving[before.resource] = key
                return
        self._replace(key, before, offered)

    def _note_refusal(self, key: Key, standing: Standing | None) -> None:
        """Keep in mind which clusters will not come, for those who wait for them, and which listeners are refused
        though nobody knows what an Envoy may have of them from a former process."""
        refused = standing is not None and bool(standing.refused)
        name = standing.wanted.known_as if standing is not None and standing.wanted is not None else ""
        if key[0] == CLUSTER and refused != (key in self._refused_clusters):
            if not refused:
                del self._refused_clusters[key]
            elif standing is not None and standing.offered is None:
                self._refused_clusters[key] = name
                for waiting in sorted(self._waiting.get(name, ())):
                    self.enforce(waiting)
        if key[0] != LISTENER:
            return
        unknown = refused and standing is not None and standing.wanted is not None and standing.last_good is None
        if unknown and standing is not None and standing.wanted is not None and not standing.wanted.element.guards:
            self._left_alone[key] = name
        elif key in self._left_alone:
            before = self._left_alone.pop(key)
            if not self._named.get((Type.LISTENERS, before)):
                self._staged[Type.LISTENERS][before] = None
                self._unpublished = True

    def leaves_alone(self, kind: Type, name: str) -> bool:
        """Whether an Envoy is not to let go of what it has under a name, though nothing is in force there: a listener
        that may be good while what is wanted now is refused, or a cluster that an old filter chain may still ask."""
        if kind is Type.CLUSTERS:
            return self.draining.keeps(kind, name)
        return kind is Type.LISTENERS and name in self._left_alone.values()

    def _while_waiting(self, key: Key, former: Version | None, waiting: Version) -> Version | None:
        """What is in force as long as ``waiting`` has not all of its clusters: ``former``. If one of them was refused
        that may be for long: then nothing less guarded, and no wider route, shall stay or answer in its place."""
        if self.held[key].isdisjoint(self._refused_clusters.values()):
            return former
        if key[0] == ROUTE:
            return former if former is not None else next(iter(stand_ins(waiting)), None)
        if former is not None and not set(waiting.element.guards).issubset(former.element.guards):
            return None
        return former

    def publish(self) -> bool:
        """Make everything that is in force now what streams tell; False if nothing has changed since the last time."""
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
            if configuration in self._served[Type.ROUTES] and not drains:
                self._serve(Type.ROUTES, configuration, None)
        return True

    def changed_since(self, kind: Type, serial: int) -> list[str] | None:
        """The names of what came, changed or went after ``serial``; None if that is too long ago to know what went."""
        if serial < self._forgotten[kind]:
            return None
        found = []
        for name, changed in reversed(self._changes[kind].items()):
            if changed <= serial:
                break
            found.append(name)
        return found

    def resource(self, kind: Type, name: str) -> Resource | None:
        """What is in force under a name; of route configurations ``no_routes``, where there is none: whoever asks has a
        listener that waits for it."""
        found = self._served[kind].get(name)
        return self.no_routes(name) if found is None and kind is Type.ROUTES else found

    def no_routes(self, name: str) -> Resource:
        """The route configuration of a name under which none is in force."""
        return Resource(name, _NONE, Assembly().assemble(name))

    def lacks(self, kind: Type, name: str, version: str | None) -> bool:
        """Whether ``resource`` gives something under a name, and not this ``version`` of it."""
        found = self._served[kind].get(name)
        if found is None:
            return kind is Type.ROUTES and version != _NONE
        return version != found.version

    def resources(self, kind: Type) -> dict[str, Resource]:
        """All that is in force of a type; to be read at once."""
        return self._served[kind]

    def trial(self, kind: Type, names: set[str] | None) -> list[Version]:
        """What was published and never acknowledged, of what resources called ``names`` (None: all) are made of."""
        on_trial = list(self._unproven[kind].values())
        if names is None:
            return on_trial
        return [one for one in on_trial if not names.isdisjoint(self._carriers(one) | self._carried_by[one.key])]

    def doubt(self, versions: Iterable[Version]) -> list[Version]:
        """Put those of these on trial again that were acknowledged once; who that is."""
        doubted = self.standings.doubt(versions)
        for version in doubted:
            self._accepted.pop(version.key, None)
            self._prove(version.key)
        return doubted

    def drop_formers(self, versions: Iterable[Version]) -> bool:
        """Take out of force those of these that only stay until their successors' clusters come, and were never
        acknowledged; whether there were any."""
        dropped = [version for version in versions if self._former(version.key) is version]
        for version in dropped:
            key, good = version.key, self._accepted.get(version.key)
            there = good is not None and self._clusters.issuperset(good.clusters)
            if key[0] == CLUSTER and not there:
                self._withdraw(version.resource)
            self._replace(key, version, good if there else None)
            if key[0] == CLUSTER and there and self.standings.get(key) is None:
                self._leaving[version.resource] = key
        return bool(dropped)

    def _former(self, key: Key) -> Version | None:
        version, standing = self._in_force.get(key), self.standings.get(key)
        if version is None or version is self._accepted.get(key):
            return None
        if standing is not None and (key not in self.held or version is standing.good or version is standing.offered):
            return None
        return version

    def members(self, kind: Type, names: set[str] | None) -> list[Version]:
        """Everybody that resources called ``names`` (None: all) are made of."""
        return [
            version
            for key, version in self._in_force.items()
            if TYPE_OF[key[0]] is kind and (names is None or not names.isdisjoint(self._carriers(version)))
        ]

    def acknowledged(self, kind: Type, trial: Iterable[Version]) -> None:
        """An Envoy has taken what these versions were part of."""
        trial = list(trial)
        for version in trial:
            if version.key in self._in_force:
                self._accepted[version.key] = version
            if self._unproven[kind].get(version.key) is version:
                del self._unproven[kind][version.key]
                self._carried_by.pop(version.key, None)
        good_before = {one.key: standing.good for one in trial if (standing := self.standings.get(one.key)) is not None}
        for key in self.standings.acknowledge(trial):
            self.on_settled(key)
        for key, good in good_before.items():
            standing = self.standings.get(key)
            if standing is not None and standing.refused and standing.last_good is not good and standing.last_good:
                self.on_regained(key)
        for version in trial:
            # What is set back goes back to what was acknowledged last, and that may just have changed.
            self.enforce(version.key)
        self._release(kind)

    def version(self, kind: Type) -> str:
        """What we call the state of a type, or of one resource of it: etcd's revision, so that an Envoy can tell even
        another process what it has accepted (0 while somebody waits or is set back), and what makes it unique."""
        revision = self.revision if self._whole(kind) else 0
        return f"{revision}.{self._process}.{self.serial}"

    def recall(self, kind: Type, version: str, known: Mapping[str, str]) -> Iterator[None]:
        """An Envoy has accepted all resources of a type under ``version``, and those that it names under the versions
        that are ``known`` to it, of this process or of a former one: what is on trial in them and stood there then is
        good. Yields after each part, so that others have their turn."""
        everything, seen = _revision(version), []
        for number, one in enumerate(self.trial(kind, None)):
            if number % _AT_ONCE == _AT_ONCE - 1:
                yield
            carriers = self._carriers(one) | self._carried_by.get(one.key, set())
            revision = max((_revision(known[name]) for name in carriers if name in known), default=-1)
            if one.element.revision <= max(everything, revision) and not one.stands_in:
                seen.append(one)
        for start in range(0, len(seen), _AT_ONCE):
            self.acknowledged(kind, seen[start : start + _AT_ONCE])
            yield

    def _whole(self, kind: Type) -> bool:
        """Whether everything wanted of a type is in force or refused: nobody waits, nobody is set back."""
        return not self.standings.any_suspended(kind) and not any(TYPE_OF[key[0]] is kind for key in self.held)

    def _prove(self, key: Key) -> None:
        version, standing, unproven = self._in_force.get(key), self.standings.get(key), self._unproven[TYPE_OF[key[0]]]
        proven = version is self._accepted.get(key) or (standing is not None and version is standing.good)
        if version is None or proven:
            unproven.pop(key, None)
            self._carried_by.pop(key, None)
        else:
            unproven[key] = version
            # As it is published: what is taken out of force meanwhile may still be on its way to an Envoy.
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
            # What Envoy refused has never had the address.
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
        """Two elements may go by one name for a moment, or by mistake: the first of them by its own name counts."""
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
            self.enforce(waiting)

    def _serve(self, kind: Type, name: str, body: bytes | None, addresses: tuple[str, ...] = ()) -> None:
        if body is None:
            self._served[kind].pop(name, None)
        else:
            self._served[kind][name] = Resource(name, self.version(kind), body, addresses)
        changes = self._changes[kind]
        changes.pop(name, None)
        changes[name] = self.serial
        if len(changes) > 2 * len(self._served[kind]) + _GONE_KEPT:
            gone = [name for name in changes if name not in self._served[kind]]
            for name in gone[: len(gone) // 2]:
                self._forgotten[kind] = changes.pop(name)

    def _may_go(self, cluster: str) -> bool:
        """Whether nothing in force refers to a cluster, and no Envoy may still hold what did."""
        if cluster in self._users or self.draining.keeps(Type.CLUSTERS, cluster):
            return False
        return self.answers.heard(self.serial) >= self._unused_since.get(cluster, 0)

    def _withdraw(self, cluster: str) -> None:
        """A cluster that Envoy refuses goes at once; what refers to it and was never acknowledged goes back to what was
        good, or waits."""
        self._clusters.discard(cluster)
        for key in sorted(self._users.get(cluster, ())):
            standing, version = self.standings.get(key), self._in_force[key]
            # A cluster that joins others goes on with those that there are.
            if standing is None or standing.good is version or key[0] == CLUSTER:
                continue
            good = standing.good
            fallback = good if good is not None and self._clusters.issuperset(good.clusters) else None
            self.held[key] = {cluster}
            self._waiting[cluster].add(key)
            self._replace(key, version, self._while_waiting(key, fallback, version))

    def _release(self, kind: Type) -> None:
        def carried(version: Version) -> bool:
            return self._in_force.get(version.key) is version and bool(self._carriers(version))

        for key in self.standings.release(kind, carried):
            self.enforce(key)

    def _drain(self, listener: Key, before: Version | None, after: Version | None) -> None:
        """Keep what ``listener`` named so far, and does not name any more, for its old filter chains."""
        left, taken = (one.names if one is not None else frozenset() for one in (before, after))
        for kind, name in left - taken:
            self.draining.keep(kind, name, self.serial + 1)
        for name in {name for kind, name in left ^ taken if kind is Type.ROUTES}:
            (self._asked_by[name].add if (Type.ROUTES, name) in taken else self._asked_by[name].discard)(listener)
            if name not in self.assembly.configurations:
                # Whether what it was last is kept may have changed.
                self.assembly.dirty.add(name)

    def _let_go(self) -> None:
        self.draining.answered(self.answers.heard(self.serial))
        for kind, name in self.draining.ended():
            if kind is Type.ROUTES:
                self.assembly.dirty.add(name)
            elif (kind, name) not in self._named:
                # Envoys may have it from a former process.
                self._staged[kind][name] = None
                self._unpublished = True
        for cluster, key in list(self._leaving.items()):
            standing = self.standings.get(key)
            if standing is not None and standing.offered is not None:
                del self._leaving[cluster]
            elif self._may_go(cluster):
                self._replace(key, self._in_force.get(key), None)
                self._unused_since.pop(cluster, None)


def _revision(version: str) -> int:
    """Of etcd, as ``World.version`` writes it; -1 if it is of another server."""
    revision = version.partition(".")[0]
    return int(revision) if revision.isdecimal() else -1
