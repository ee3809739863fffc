"""Implements the protocol of one Envoy's stream: subscriptions, responses, answers, and the next response.

Aggregated discovery is about the order in which changes are sent. Changes are sent in *rounds*: what changed since the
last round, clusters before their endpoints, those before listeners, those before routes, removed clusters last; each
step only when the one before it is answered (clusters: or after 1 s). A round's content is fixed when it begins, so
that continuous changes can't delay routes without end. Secrets and endpoints that an Envoy newly asks for are sent at
once: its clusters and listeners wait for them. Secrets that changed are the first of a round.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from . import client_limits
from .draining import StreamAddresses
from .elements import WILDCARD, Type
from .encoding import Version
from .rejections import RejectionAnalyzer
from .served import Resource
from .snapshot_cache import SnapshotCache

_AT_ONCE = (Type.SECRETS, Type.ENDPOINTS)
_NAMES = 500
"""Names of an Envoy that are processed, or answered, at once."""
_PATIENCE = 1.0
"""Seconds that everything else waits for the answer to clusters.

An Envoy answers only when all of them are warm, and one whose name can't be resolved must not delay the others longer.
"""


class Request(NamedTuple):
    """A request of an Envoy, in either dialect.

    ``error``: why it rejects ``nonce``. State of the world: the last ``version`` it accepted, and all the ``names``
    that it wants. Incremental: names that it subscribes to (``more``) and unsubscribes from (``less``), and resources
    ``known`` to it from a former stream, name → version.
    """

    kind: Type
    nonce: str = ""
    version: str = ""
    error: str | None = None
    names: frozenset[str] | None = None
    more: tuple[str, ...] = ()
    less: tuple[str, ...] = ()
    known: Mapping[str, str] = MappingProxyType({})


class Response(NamedTuple):
    """A response: ``resources`` in force, and names of ``deleted`` ones."""

    kind: Type
    nonce: str
    version: str
    resources: Sequence[Resource]
    deleted: Sequence[str] = ()


class _Sent(NamedTuple):
    nonce: str
    serial: int
    names: set[str] | None
    trial: Sequence[Version]
    until: float
    """Until when others wait for the answer."""
    addresses: dict[str, tuple[str, ...]]
    """Addresses of the listeners in the response, none for deleted ones."""
    resources: Sequence[Resource]


class _Subscription:
    """The subscription to one type.

    ``dirty``: names to send in the next round; ``asked``: names to send at once; ``known``: name → version that the
    Envoy has; ``sent``: responses without an answer, by nonce; ``unheard``: it waits for a first response, even an
    empty one; ``blocked_until``: sending again before this serial would only be rejected again; ``collected``: changes
    up to this serial are in ``dirty``; ``accepted``: the resources it took last (state of the world only);
    ``unknown_names``: names under which nothing was in force when it named them.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.dirty: set[str] = set()
        self.asked: set[str] = set()
        self.known: dict[str, str] = {}
        self.sent: dict[str, _Sent] = {}
        self.unheard = False
        self.blocked_until = 0
        self.collected = 0
        self.accepted: Sequence[Resource] = ()
        self.unknown_names: set[str] = set()


class _Step(NamedTuple):
    """A response of a round.

    ``serial``: at which its content was fixed; ``trial``: the versions on trial in it; ``endpoints``: the names under
    which its clusters want endpoints.
    """

    kind: Type
    names: set[str]
    serial: int
    resources: Sequence[Resource] = ()
    deleted: Sequence[str] = ()
    trial: Sequence[Version] = ()
    endpoints: frozenset[str] = frozenset()


class Session:
    """The protocol of one stream.

    ``whole``: responses of wildcard types hold all resources, not only changed ones (state of the world). ``count`` is
    called with ``push``, ``ack`` or ``nack`` and the type; ``peer``: the client's address, for logs; ``clock`` gives
    seconds.
    """

    def __init__(
        self,
        cache: SnapshotCache,
        rejections: RejectionAnalyzer,
        *,
        whole: bool,
        peer: str = "",
        count: Callable[[str, Type], None] = lambda what, kind: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.serial = 0
        """Everything published up to this was sent and answered."""
        self.peer = peer
        self.unknown_bytes = 0
        """Memory of names under which nothing was in force."""
        self._cache = cache
        self._rejections = rejections
        self._whole = whole
        self._count = count
        self._clock = clock
        self._subscriptions: dict[Type, _Subscription] = {}
        self._collected = 0
        self._round: deque[_Step] | None = None
        self._nonces = 0
        self._addresses = StreamAddresses()
        self._receiving = False
        self._former: set[str] = set()
        """Clusters that this Envoy has from a former stream and that are not in force.

        They are kept for this Envoy alone, for the drain time after it has answered everything in force.
        """
        self._former_until = math.inf

    def receive(self, request: Request) -> None:
        """Process a request at once."""
        for _ in self.receiving(request):
            pass

    def receiving(self, request: Request) -> Generator[None, None, None]:
        """Process a request; yields after each part, so that other tasks can run.

        Raises ``TooMuch`` if it names too many resources.
        """
        self._receiving = True
        in_force = len(self._cache.served.resources(request.kind))
        client_limits.check_number(max(len(request.names or request.more), len(request.known)), in_force)
        subscription = self._subscriptions.get(request.kind)
        if subscription is None:
            subscription = yield from self._first(request)
            self._subscriptions[request.kind] = subscription
        if not self._stale(request, subscription) and request.kind not in WILDCARD:
            yield from self._subscribe(request, subscription)
            client_limits.check_number(len(subscription.names), in_force)
        self._receiving = False

    def _stale(self, request: Request, subscription: _Subscription) -> bool:
        """Process the answer in a request, if there is one. Returns whether it answers an older response.

        The Envoy's current wishes are in its answer to the latest response.
        """
        if not request.nonce or not subscription.sent:
            return False
        sent = subscription.sent.pop(request.nonce, None)
        if sent is None:
            return self._whole
        if self._whole:
            # This response included everything that was sent before it.
            later = {n: one for n, one in subscription.sent.items() if int(n) > int(request.nonce)}
            subscription.sent = later
        self._answered(request, subscription, sent)
        return False

    def next(self) -> Response | None:
        """The response to send now; None until an answer or a change comes, or ``patience`` is over."""
        while not self._receiving:
            response = self._asked()
            if response is not None:
                return response
            if self._unanswered():
                return None
            if self._round is None:
                if not self._begin_round():
                    return None
            elif self._round:
                response = self._say(self._round.popleft())
                if response is not None:
                    return response
            else:
                self._round = None
                self._all_answered()
        return None

    def _all_answered(self) -> None:
        self.serial = self._collected
        if self._former and self._former_until == math.inf:
            self._former_until = self._clock() + self._cache.draining.seconds

    def patience(self) -> float | None:
        """Seconds after which ``next`` may have a response without an answer; None if it won't."""
        left = [
            sent.until - self._clock()
            for subscription in self._subscriptions.values()
            for sent in subscription.sent.values()
            if self._clock() < sent.until < math.inf
        ]
        if not left and self._former_until < math.inf:
            left = [max(0.0, self._former_until - self._clock())]
        return max(left, default=None)

    def _first(self, request: Request) -> Generator[None, None, _Subscription]:
        """Begin a subscription with what the Envoy accepted on a former stream.

        That was good then, whatever is rejected now. Clusters that are no longer in force are kept: its old filter
        chains may still use them.
        """
        subscription = _Subscription()
        cache, kind = self._cache, request.kind
        subscription.collected = cache.serial
        yield from cache.recall(kind, request.version, request.known)
        subscription.known = dict(request.known)
        for number, name in enumerate(request.known):
            if number % _NAMES == 0:
                yield
            self._note(kind, subscription, name)
        if kind is Type.CLUSTERS and cache.draining.seconds > 0:
            self._former = request.known.keys() - cache.served.resources(kind).keys()
        if kind in WILDCARD:
            subscription.unheard = True
            subscription.dirty = self._differing(kind, subscription)
        return subscription

    def _differing(self, kind: Type, subscription: _Subscription) -> set[str]:
        """The names that the Envoy lacks, has in another version, or has although they are not in force."""
        if kind not in WILDCARD:
            return set(subscription.names)
        there, known = self._cache.served.resources(kind), subscription.known
        return {name for name, one in there.items() if known.get(name) != one.version} | (known.keys() - there.keys())

    def _answered(self, request: Request, subscription: _Subscription, sent: _Sent) -> None:
        if request.error is None:
            self._count("ack", request.kind)
            if request.kind is Type.LISTENERS:
                self._addresses.accepted(sent.addresses, whole=self._whole)
            if request.kind is Type.CLUSTERS and self._whole:
                subscription.accepted = sent.resources
            self._cache.acknowledged(request.kind, sent.trial)
            return
        self._count("nack", request.kind)
        subscription.accepted = ()  # which of them it has is unknown, and what it rejects must not be sent again
        if not self._rejections.on_rejection(request.kind, sent.names, list(sent.trial), request.error):
            return
        subscription.blocked_until = sent.serial + 1
        subscription.dirty |= sent.names if sent.names is not None else set(self._cache.served.resources(request.kind))
        for step in self._round or ():
            self._subscriptions[step.kind].dirty |= step.names
        self._round = None

    def _subscribe(self, request: Request, subscription: _Subscription) -> Iterator[None]:
        asked = set(request.more)
        dropped = set(request.less)
        if request.names is not None:
            asked |= request.names - subscription.names
            dropped |= subscription.names - request.names
        subscription.names -= dropped
        subscription.names |= asked
        for name in dropped:
            subscription.known.pop(name, None)
            self._forget(subscription, name)
        waiting = subscription.asked if request.kind in _AT_ONCE else subscription.dirty
        for number, name in enumerate(asked):
            if number % _NAMES == _NAMES - 1:
                yield
            self._note(request.kind, subscription, name)
            # It may already have the resource from a former stream.
            if self._cache.served.lacks(request.kind, name, subscription.known.pop(name, None)):
                waiting.add(name)
        subscription.asked &= subscription.names
        subscription.dirty &= subscription.names

    def _note(self, kind: Type, subscription: _Subscription, name: str) -> None:
        """Count the memory of a name under which nothing is in force: a client can send any number of them."""
        if name not in subscription.unknown_names and name not in self._cache.served.resources(kind):
            subscription.unknown_names.add(name)
            self.unknown_bytes += client_limits.cost(name)

    def _forget(self, subscription: _Subscription, name: str) -> None:
        if name in subscription.unknown_names:
            subscription.unknown_names.discard(name)
            self.unknown_bytes -= client_limits.cost(name)

    def _unanswered(self) -> bool:
        now = self._clock()
        return any(now < sent.until for one in self._subscriptions.values() for sent in one.sent.values())

    def _asked(self) -> Response | None:
        for kind in _AT_ONCE:
            subscription = self._subscriptions.get(kind)
            if subscription is None or self._cache.serial < subscription.blocked_until:
                continue
            while subscription.asked and not subscription.sent:
                names = self._together(kind, subscription.asked)
                subscription.asked -= names
                response = self._say(self._step(kind, names, subscription))
                if response is not None:
                    return response
        return None

    def _has_asked(self) -> bool:
        """Whether ``_asked`` has something to send: such as secrets that are all that changed."""
        return any(subscription.asked and not subscription.sent for subscription in self._subscriptions.values())

    def _together(self, kind: Type, names: set[str]) -> set[str]:
        """The names among these that may share one response. A secret on trial gets a response of its own.

        An Envoy accepts a secret that it rejected silently when it is sent the same again, so a second trial would show
        nothing.
        """
        trial = self._cache.trial(kind, names) if kind is Type.SECRETS else []
        return {trial[0].resource} if trial else set(names)

    def _begin_round(self) -> bool:
        """Fix the content of the next round; returns False if there is nothing to send yet."""
        cache = self._cache
        if any(cache.serial < subscription.blocked_until for subscription in self._subscriptions.values()):
            return False
        for kind, subscription in self._subscriptions.items():
            changed = cache.served.changed_since(kind, subscription.collected)
            if changed is None:
                subscription.dirty |= self._differing(kind, subscription)
                subscription.unheard |= kind in WILDCARD
            else:
                subscription.dirty.update(changed if kind in WILDCARD else subscription.names.intersection(changed))
            subscription.collected = cache.serial
            if kind is Type.SECRETS:
                subscription.asked |= subscription.dirty
                subscription.dirty = set()
        self._collected = cache.serial
        if self._former_until <= self._clock():
            self._subscriptions[Type.CLUSTERS].dirty |= self._former
            self._former, self._former_until = set(), math.inf
        steps = []
        for kind in Type:
            wanted = self._subscriptions.get(kind)
            if wanted is not None and (wanted.dirty or wanted.unheard):
                if kind is Type.LISTENERS:
                    steps += self._hand_over(wanted)
                steps += self._steps(kind, wanted)
        for step in steps:
            self._subscriptions[step.kind].dirty = set()
        steps = self._removals_last(steps)
        if not steps and not self._has_asked():
            self._all_answered()
            return False
        self._round = deque(steps)
        return True

    def _removals_last(self, steps: list[_Step]) -> list[_Step]:
        """Move the removal of deleted clusters behind all other steps.

        The routes and listeners of a silent Envoy may still refer to them.
        """
        place = next((number for number, step in enumerate(steps) if step.kind is Type.CLUSTERS), None)
        if place is None or len(steps) == 1:
            return steps
        step, subscription = steps[place], self._subscriptions[Type.CLUSTERS]
        if self._whole:
            there = self._cache.served.resources(Type.CLUSTERS)
            former = [one for one in subscription.accepted if one.name not in there]
            deleted: Sequence[str] = [one.name for one in former]
            first = step._replace(resources=[*step.resources, *former])
            last = step._replace(deleted=deleted, endpoints=frozenset())
        else:
            deleted = step.deleted
            first = step._replace(deleted=())
            last = _Step(step.kind, set(deleted), step.serial, deleted=deleted)
        return [*steps[:place], first, *steps[place + 1 :], last] if deleted else steps

    def _hand_over(self, subscription: _Subscription) -> list[_Step]:
        """The step that removes listeners that hand an address over, before the step of all listeners; or none.

        Listeners that wait for such an address are not in it.
        """
        cache, kind = self._cache, Type.LISTENERS
        there = cache.served.resources(kind)
        wanted = {name: resource.addresses for name, resource in there.items()}
        leaving, coming = self._addresses.hand_over(subscription.dirty, wanted)
        if not leaving:
            return []
        others = [one for one in there.values() if one.name not in leaving | coming] if self._whole else []
        trial = cache.trial(kind, {one.name for one in others})
        return [_Step(kind, leaving, cache.serial, others, sorted(leaving), trial)]

    def _steps(self, kind: Type, subscription: _Subscription) -> list[_Step]:
        """The steps of one type: one, except that names without a route configuration are sent in parts."""
        if kind is not Type.ROUTES:
            return [self._step(kind, subscription.dirty, subscription)]
        unknown = subscription.dirty - self._cache.served.resources(kind).keys()
        known, rest, serial = subscription.dirty - unknown, iter(unknown), self._cache.serial
        steps = [self._step(kind, known, subscription)] if known else []
        while names := set(islice(rest, _NAMES)):
            steps.append(_Step(kind, names, serial))
        return steps

    def _step(self, kind: Type, names: set[str], subscription: _Subscription) -> _Step:
        cache = self._cache
        there = cache.served.resources(kind)
        found = {name: there[name] for name in sorted(names & there.keys())}
        missing = names.difference(there).intersection(subscription.known)
        if kind is Type.CLUSTERS:
            missing -= self._former
        deleted = sorted(name for name in missing if not cache.retains(kind, name))
        sent = list(cache.served.resources(kind).values()) if self._whole and kind in WILDCARD else list(found.values())
        endpoints = cache.endpoints_of(found) if kind is Type.CLUSTERS else frozenset[str]()
        trial = cache.trial(kind, None if self._whole and kind in WILDCARD else names)
        return _Step(kind, set(names), cache.serial, sent, deleted, trial, endpoints)

    def _say(self, step: _Step) -> Response | None:
        everything = self._whole and step.kind in WILDCARD
        cache, subscription = self._cache, self._subscriptions[step.kind]
        if step.kind is Type.CLUSTERS and step.deleted:
            # Some may exist again since the round began; routes that still refer to them are not sent again.
            back = {name for name in step.deleted if name in cache.served.resources(step.kind)}
            there = [cache.served.resources(step.kind)[name] for name in sorted(back)] if self._whole else []
            deleted = [name for name in step.deleted if name not in back]
            step = step._replace(deleted=deleted, resources=[*step.resources, *there])
        if step.kind is Type.ROUTES and not step.resources:
            step = step._replace(resources=[cache.served.no_routes(name) for name in sorted(step.names)])
        if not (step.resources or step.deleted or everything or subscription.unheard):
            return None
        subscription.unheard = False
        self._nonces += 1
        names = None if everything else step.names
        until = self._clock() + _PATIENCE if step.kind is Type.CLUSTERS else math.inf
        addresses = dict.fromkeys(step.deleted, ()) | {one.name: one.addresses for one in step.resources}
        sent = _Sent(str(self._nonces), step.serial, names, step.trial, until, addresses, step.resources)
        subscription.sent[sent.nonce] = sent
        for resource in step.resources if not self._whole else ():
            subscription.known[resource.name] = resource.version
        for name in step.deleted:
            subscription.known.pop(name, None)
            if name not in subscription.names:
                self._forget(subscription, name)
        waiting = self._subscriptions.get(Type.ENDPOINTS)
        if waiting is not None:
            # Envoy accepts a changed cluster only once it has received its endpoints again, even unchanged ones.
            waiting.asked |= step.endpoints & waiting.names
        if step.kind is Type.LISTENERS:
            self._addresses.sent(addresses)
        self._count("push", step.kind)
        return Response(step.kind, sent.nonce, cache.version(step.kind), step.resources, step.deleted)
