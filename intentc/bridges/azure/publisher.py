"""One pass of the publisher: look at the gateway, assemble, compare, and write what differs (docs/appgw.md §11).

Each pass begins with a GET and remembers nothing that decides: what was made and which certificates were sent stands in
``Published``, which is kept in etcd. ``client`` speaks to Azure, ``document`` assembles, ``meaning`` compares,
``rejected_ingresses`` decides which Ingress is left out after a rejection. When to look again, and who may act,
is decided in ``serving``.

State: what Azure filled in, and the search for the Ingress that it rejects.

Touches: clock; through others: files, HTTP, logs, randomness, sockets.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from .certificates import PASSWORD
from .client import Absent, Changed, Denied, NotAccepted, Throttled, Unanswered
from .document import Assembled, Parts, assemble
from .meaning import Learned, dangling, differing_parts
from .rejected_ingresses import RejectedIngresses
from .repairs import Repairs
from .world import RejectionRecords, World

Document = dict[str, Any]
MANAGED = "managed-by-k8s-ingress"
"""The tag of a gateway that such a controller manages."""
_TIERS = ("Standard_v2", "WAF_v2")
_UPDATING_SECONDS = 10.0
_DOUBT_SECONDS = 3.0
_CERTIFICATES = "sslCertificates"


class Manager(Protocol):
    """Azure Resource Manager; see ``client.ResourceManagerClient``."""

    async def get(self, resource: str) -> Document: ...

    async def put(self, resource: str, document: Mapping[str, Any], etag: str) -> None: ...


class Published(msgspec.Struct, frozen=True):
    """What the gateway has of ours: the ids that were made, and certificate → digest of the content that was sent."""

    made: tuple[str, ...] = ()
    certificates: tuple[tuple[str, str], ...] = ()


class Gateway(NamedTuple):
    """``gateway``: its id. ``takes_over``: whether parts of others may be removed from a gateway that nobody manages.
    ``limits``: in place of Azure's."""

    gateway: str
    takes_over: bool = False
    limits: Mapping[str, int] = {}


class Address(NamedTuple):
    """Where the gateway answers; one of the two is empty."""

    ip: str = ""
    hostname: str = ""


class Records(RejectionRecords, Protocol):
    """Where the publisher writes what the compiler and the next process must know."""

    async def gateway(self, shown: Document, published: Published) -> None:
        """What the gateway has (kind ``appgw_gateway``)."""
        ...

    async def published(self, published: Published) -> None:
        """What it has of ours (kind ``appgw_published``)."""
        ...

    async def publications(self, served: Mapping[str, Sequence[Address]]) -> None:
        """The Ingresses that it serves, all of them, and where (kind ``appgw_publication``)."""
        ...


class Pass(NamedTuple):
    """What a pass found. ``state``: applied, written, or why nothing was written. ``after``: seconds until the next
    look; 0: at once; None: at the next change or comparison. ``failed``: back off. ``problems``: (Ingress, reason,
    message)."""

    state: str
    message: str = ""
    after: float | None = None
    failed: bool = False
    problems: tuple[tuple[str, str, str], ...] = ()


class Publisher:
    """Publishes one gateway. ``world``: what was compiled, None while it is not known completely. ``published``,
    ``suspected``: what a former process left in etcd. ``clock``: seconds."""

    def __init__(
        self,
        manager: Manager,
        records: Records,
        world: Callable[[], World | None],
        settings: Gateway,
        published: Published,
        suspected: Iterable[str] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.published = published
        self.sent = 0
        """Documents that Azure accepted."""
        self._manager = manager
        self._records = records
        self._world = world
        self._settings = settings
        self._learned = Learned()
        self._rejected_ingresses = RejectedIngresses(records, suspected)
        self._repairs = Repairs(records, clock)
        self._doubted: Document | None = None
        """The document that Azure rejected last. Nobody is left out before it is rejected twice."""

    async def publish(self) -> Pass:
        """Look once. Raises what ``records`` raise."""
        try:
            return await self._publish()
        except Absent as error:
            return Pass("UnableToFetchAppGw", f"there is no gateway {self._settings.gateway}: {error}", failed=True)
        except Denied as error:
            return Pass(
                "ARMAuthFailure", f"give the identity the role Contributor on the gateway: {error}", failed=True
            )
        except Throttled as error:
            return Pass("Throttled", str(error), after=error.seconds or None, failed=True)
        except Unanswered as error:
            return Pass("FailedApplyingAppGwConfig", str(error), failed=True)

    async def _publish(self) -> Pass:
        shown = await self._manager.get(self._settings.gateway)
        await self._records.gateway(shown, self.published)
        properties = shown.get("properties") or {}
        if (found := self._unready(properties)) is not None:
            if found.state == "GatewayStopped":
                await self._records.publications({})
            return found
        world = self._world()
        if world is None:
            return Pass("Waiting", "the compiler's objects are not known completely yet")
        await self._repairs.release(world)
        if not await self._rejected_ingresses.is_ready(world):
            return Pass("Searching", "the compiler leaves out the Ingresses that are suspected")
        assembled = assemble(world.parts, shown, limits=self._settings.limits, made=self.published.made)
        if assembled.held:
            return Pass("Held", assembled.held)
        if not self._settings.takes_over and self._is_foreign(shown, world.parts):
            message = (
                f"parts of others would be removed from the gateway, which has no tag {MANAGED}; "
                "set appgw.allow_foreign_removal to allow that"
            )
            return Pass("ForeignConfiguration", message)
        return await self._write(world, assembled, shown)

    def _unready(self, properties: Mapping[str, Any]) -> Pass | None:
        if properties.get("provisioningState") in ("Updating", "Deleting"):
            return Pass("Updating", "another operation runs", after=_UPDATING_SECONDS)
        if properties.get("operationalState") in ("Stopped", "Stopping"):
            return Pass("GatewayStopped", "the gateway is stopped; a write would start it")
        tier = (properties.get("sku") or {}).get("tier")
        if tier not in _TIERS:
            return Pass("UnsupportedAppGatewaySKUTier", f"tier {tier}; use one of {', '.join(_TIERS)}")
        return None

    def _is_foreign(self, shown: Document, parts: Parts) -> bool:
        """Whether a first take-over would remove what others made."""
        total = (parts.whole or {}).get("ownership", "total") == "total"
        properties = shown.get("properties") or {}
        has_parts = any(properties.get(name) for name in ("httpListeners", "requestRoutingRules", "urlPathMaps"))
        return total and has_parts and not self.published.made and MANAGED not in (shown.get("tags") or {})

    async def _write(self, world: World, assembled: Assembled, shown: Document) -> Pass:
        digests = _digests(assembled.document)
        wanted = _without_digests(assembled.document)
        present = {str(item["name"]) for item in shown["properties"].get(_CERTIFICATES) or ()}
        sent = {name: digest for name, digest in self.published.certificates if name in present}
        stale = {name for name, digest in digests.items() if sent.get(name) != digest}
        if lost := dangling(wanted):
            return Pass("Waiting", f"{lost} is referred to, and not compiled yet")
        parts = differing_parts(wanted, shown, self._learned)
        problems = tuple((one.owner, one.reason, one.message) for one in assembled.problems)
        if not parts and not stale:
            await self._keep(assembled, digests)
            await self._announce(world, assembled, shown)
            if await self._rejected_ingresses.on_accepted(world):
                return Pass("Searching", problems=problems)
            return Pass("Applied", problems=problems)
        try:
            document = _with_data(assembled.document, stale, world.secret)
        except ValueError as error:
            return Pass("Waiting", str(error), problems=problems)
        made = tuple(sorted({*self.published.made, *assembled.made}))
        await self._remember(Published(made, self.published.certificates))
        try:
            await self._manager.put(self._settings.gateway, document, str(shown.get("etag", "")))
        except Changed as error:
            return Pass("Changed", str(error), after=0.0)
        except NotAccepted as error:
            if wanted != self._doubted:
                # The compiler may have been in the middle of its writes.
                self._doubted = wanted
                return Pass("Doubted", str(error), after=_DOUBT_SECONDS, problems=problems)
            found = await self._rejected_ingresses.on_rejected(world, document, error.rejection)
            state = "Rejected" if found else "FailedApplyingAppGwConfig"
            return Pass(state, f"{found}: {error}" if found else str(error), failed=not found, problems=problems)
        self.sent += 1
        self._doubted = None
        after = await self._manager.get(self._settings.gateway)
        self._learned.accepted(wanted, after)
        await self._keep(assembled, digests)
        await self._rejected_ingresses.on_accepted(world)
        return Pass("Written", ", ".join(parts[:10]), after=0.0, problems=problems)

    async def _announce(self, world: World, assembled: Assembled, shown: Document) -> None:
        """Record which Ingresses are served, now that the gateway has what they ask for."""
        public: list[Address] = []
        private: list[Address] = []
        for item in shown["properties"].get("frontendIPConfigurations") or ():
            given = item.get("properties") or {}
            if resource := (given.get("publicIPAddress") or {}).get("id"):
                try:
                    address = (await self._manager.get(str(resource))).get("properties") or {}
                except (Absent, Denied):
                    # What was announced stays: the gateway goes on, and its address can't be read now.
                    return
                ip, name = address.get("ipAddress", ""), (address.get("dnsSettings") or {}).get("fqdn", "")
                public += [Address(ip) if ip else Address(hostname=name)] if ip or name else []
            elif ip := given.get("privateIPAddress"):
                private.append(Address(ip))
        left_out = set(assembled.left_out)
        served = {name: private if name in world.private else public for name in world.parts.owners}
        await self._records.publications({name: found for name, found in served.items() if name not in left_out})

    async def _keep(self, assembled: Assembled, digests: Mapping[str, str]) -> None:
        await self._remember(Published(assembled.made, tuple(sorted(digests.items()))))

    async def _remember(self, published: Published) -> None:
        if published != self.published:
            await self._records.published(published)
            self.published = published


def _digests(document: Mapping[str, Any]) -> dict[str, str]:
    """Our certificates in an assembled document: name → digest."""
    items = document["properties"].get(_CERTIFICATES) or ()
    return {str(item["name"]): str(item["properties"]["digest"]) for item in items if "digest" in item["properties"]}


def _without_digests(document: Document) -> Document:
    found = copy.deepcopy(document)
    for item in found["properties"].get(_CERTIFICATES) or ():
        if "digest" in item["properties"]:
            item["properties"] = {}
    return found


def _with_data(document: Document, stale: set[str], secret: Callable[[str], str]) -> Document:
    """The document as it is sent: with the data of certificates that Azure does not have yet. Raises ``ValueError``."""
    found = copy.deepcopy(document)
    for item in found["properties"].get(_CERTIFICATES) or ():
        if "digest" in item["properties"]:
            place = str(item["properties"]["secret"])
            item["properties"] = {"data": secret(place), "password": PASSWORD} if item["name"] in stale else {}
    return found
