"""One pass of the publisher: looks at the gateway, assembles, compares, writes what differs, and records the result.

Each pass begins with a GET (docs/appgw.md §11). What a successor must know (what was made, which certificates were
sent) stands in ``Published``, which ``record_writer`` writes through the API server; so it does with what the gateway
has, which Ingresses are served and where, and problems.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from intentc import crashpoints
from intentc.reconcile.failures import Conflict, Denied, Failure, Throttled, Unavailable

from .client import Absent, NotAccepted
from .compiled_world import Published, World
from .contended_parts import ContendedParts
from .document import Assembled, Parts, assemble
from .normalize import ServerDefaults, dangling, differing_parts, digest_of, digests_of
from .pfx import PASSWORD, Pair
from .rejections import RejectedIngresses, RejectionRecords, RetriedIngresses

Document = dict[str, Any]
Problems = tuple[tuple[str, str, str], ...]
MANAGED = "managed-by-k8s-ingress"
"""The tag of a gateway that such a controller manages."""
_TIERS = ("Standard_v2", "WAF_v2")
_UPDATING_SECONDS = 10.0
_DOUBT_SECONDS = 3.0
_CERTIFICATES = "sslCertificates"
_ALWAYS_SHOWN = ("frontendIPConfigurations", "httpListeners", "requestRoutingRules")
"""Collections without which no gateway exists."""


class Manager(Protocol):
    """Azure Resource Manager; see ``client.ResourceManagerClient``."""

    async def get(self, resource: str) -> Document: ...

    async def put(self, resource: str, document: Mapping[str, Any], etag: str) -> None: ...


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

    async def problems(self, problems: Problems) -> None:
        """What only the whole document shows, all of it (kind ``appgw_document_problem``)."""
        ...


class Pass(NamedTuple):
    """What a pass found. ``state``: applied, written, or why nothing was written. ``after``: seconds until the next
    look; 0: at once; None: at the next change or comparison. ``failed``: back off. ``problems``: (Ingress, reason,
    message). ``is_firm``: a change does not end the wait."""

    state: str
    message: str = ""
    after: float | None = None
    failed: bool = False
    problems: Problems = ()
    is_firm: bool = False


class _AzureFailed(Exception):
    """A call to Azure failed, and says nothing about the document. Failures of ``records`` are the API server's."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


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
        self._learned = ServerDefaults(published.learned)
        self._contended = ContendedParts(clock)
        self._rejected_ingresses = RejectedIngresses(records, suspected)
        self._retried_ingresses = RetriedIngresses(records, clock)
        self._doubted: Document | None = None
        """The document that Azure rejected last. Nobody is left out before it is rejected twice."""

    @property
    def contended(self) -> tuple[str, ...]:
        """The parts of the gateway that another writer reverts, and that wait."""
        return self._contended.parts

    async def publish(self) -> Pass:
        """Look once. Raises what ``records`` raise."""
        try:
            return await self._publish()
        except _AzureFailed as failed:
            error = failed.failure
        match error:
            case Absent():
                message = f"there is no gateway {self._settings.gateway}: {error.message}"
                return Pass("UnableToFetchAppGw", message, failed=True)
            case Denied():
                message = f"give the identity the role Contributor on the gateway: {error}"
                return Pass("ARMAuthFailure", message, failed=True)
            case Throttled():
                return Pass("Throttled", f"Azure {error}", after=error.seconds or None, failed=True, is_firm=True)
            case _:
                return Pass("FailedApplyingAppGwConfig", str(error), failed=True)

    async def _gateway(self) -> Document:
        """The gateway as Azure shows it."""
        return _complete(await self._get(self._settings.gateway))

    async def _get(self, resource: str) -> Document:
        try:
            return await self._manager.get(resource)
        except Failure as error:
            raise _AzureFailed(error) from None

    async def _publish(self) -> Pass:
        shown = await self._gateway()
        crashpoints.reach("gateway.read")
        await self._records.gateway(shown, self.published)
        crashpoints.reach("gateway.recorded")
        # etcd may have been restored to a state that lacks it.
        await self._records.published(self.published)
        world = self._world()
        if world is not None and (other := self._other_gateway(world.parts)):
            message = f"the compiler's objects are for {other}; give both processes the same settings of the gateway"
            return Pass("OtherGateway", message)
        if (found := self._unready(shown["properties"])) is not None:
            if found.state == "GatewayStopped":
                await self._records.publications({})
            return found
        if world is None:
            return Pass("Waiting", "the compiler's objects are not known completely yet")
        await self._retried_ingresses.release(world)
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

    def _other_gateway(self, parts: Parts) -> str:
        """The id of the gateway that the compiler works for, if it is not this one. A path has one gateway: the records
        of another one must stay."""
        compiled = str((parts.whole or {}).get("gateway") or "")
        return compiled if compiled and compiled.lower() != self._settings.gateway.lower() else ""

    def _unready(self, properties: Mapping[str, Any]) -> Pass | None:
        if properties.get("provisioningState") in ("Updating", "Deleting"):
            return Pass("Updating", "another operation runs", after=_UPDATING_SECONDS, is_firm=True)
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
        wanted = _without_digests(assembled.document)
        problems = tuple((one.owner, one.reason, one.message) for one in assembled.problems)
        await self._records.problems(problems)
        if lost := dangling(wanted):
            return Pass("Waiting", f"{lost} is referred to, and not compiled yet")
        try:
            certificates, unsent = self._certificates(world, assembled, shown)
        except ValueError as error:
            return Pass("Waiting", str(error), problems=problems)
        if self._has_ended(wanted, shown):
            # A former process began this write, and it was carried out.
            self._learned.filled_in(wanted, shown)
        parts = differing_parts(wanted, shown, self._learned)
        has_failed = bool(self.published.sent) and _state(shown) == "Failed"
        if not (parts or unsent or has_failed):
            await self._keep(assembled, certificates)
            await self._announce(world, assembled, shown)
            crashpoints.reach("addresses.recorded")
            if await self._rejected_ingresses.on_accepted(world):
                return Pass("Searching", problems=problems)
            return Pass("Applied", problems=problems)
        digests = digests_of(wanted)
        differing = {part: digests.get(part, "") for part in parts}
        known = dict(self.published.certificates)
        replaced = {name: pair.digest for name, pair in unsent.items() if known.get(name) == pair.digest}
        differing |= {f"{_CERTIFICATES}/{name}": digest for name, digest in replaced.items()}
        parts = sorted(differing)
        is_urgent = has_failed or len(replaced) < len(unsent)
        if (seconds := self._contended.seconds({} if is_urgent else differing)) > 0:
            return self._contended_pass(parts, seconds, problems)
        try:
            document = _with_data(assembled.document, unsent)
        except ValueError as error:
            return Pass("Waiting", str(error), problems=problems)
        made = tuple(sorted({*self.published.made, *assembled.made}))
        etag = str(shown.get("etag", ""))
        await self._remember(self.published._replace(made=made, sent=digest_of(wanted), etag=etag))
        crashpoints.reach("document.begun")
        try:
            await self._manager.put(self._settings.gateway, document, etag)
            crashpoints.reach("document.done")
        except Conflict as error:
            await self._remember(self.published._replace(sent="", etag=""))
            self._contended.on_overtaken()
            return Pass("Changed", error.message, after=0.0, problems=problems)
        except NotAccepted as error:
            crashpoints.reach("rejection.answered")
            await self._remember(self.published._replace(sent="", etag=""))
            if wanted != self._doubted:
                # The compiler may have been in the middle of its writes.
                self._doubted = wanted
                return Pass("Doubted", error.message, after=_DOUBT_SECONDS, problems=problems)
            found = await self._rejected_ingresses.on_rejected(world, document, error.rejection)
            crashpoints.reach("rejection.recorded")
            state = "Rejected" if found else "FailedApplyingAppGwConfig"
            message = f"{found}: {error.message}" if found else error.message
            return Pass(state, message, failed=not found, problems=problems)
        except Failure as error:
            raise _AzureFailed(error) from None
        self.sent += 1
        self._doubted = None
        self._contended.on_written(differing)
        after = await self._gateway()
        if _state(after) == "Succeeded":
            # Otherwise another writer has begun, and what is shown may be its work.
            self._learned.accepted(wanted, after)
        await self._keep(assembled, certificates)
        crashpoints.reach("document.kept")
        await self._rejected_ingresses.on_accepted(world)
        return Pass("Written", ", ".join(parts[:10]), after=0.0, problems=problems)

    def _has_ended(self, wanted: Document, shown: Document) -> bool:
        """Whether ``shown`` is what became of a write of ``wanted`` whose end nobody saw."""
        published = self.published
        has_changed = _state(shown) == "Succeeded" and published.etag != str(shown.get("etag", ""))
        return has_changed and bool(published.sent) and published.sent == digest_of(wanted)

    def _contended_pass(self, parts: Sequence[str], seconds: float, problems: Problems) -> Pass:
        names = self._contended.shown(self._contended.parts)
        message = (
            f"another writer changes {names} again and again, so {len(parts)} parts of the gateway differ; "
            "stop that writer, or set appgw.ownership to marked or prohibited"
        )
        return Pass("Contended", message, after=seconds, problems=problems)

    def _certificates(
        self, world: World, assembled: Assembled, shown: Document
    ) -> tuple[dict[str, str], dict[str, Pair]]:
        """Name → digest of what the gateway has after this pass, and what of it must be sent. Raises ``ValueError``.

        The Secret as it is now decides, and not the compiler's digest of it: it may have changed since."""
        there = {
            str(item["name"]): item.get("properties") or {} for item in shown["properties"].get(_CERTIFICATES) or ()
        }
        sent = {name: digest for name, digest in self.published.certificates if name in there}
        digests: dict[str, str] = {}
        unsent: dict[str, Pair] = {}
        for name, secret in _secrets(assembled.document).items():
            try:
                pair = world.secret(secret)
            except ValueError:
                if name not in sent:
                    raise
                # The compiler has not seen yet that the Secret is gone.
                digests[name] = sent[name]
                continue
            digests[name] = pair.digest
            public = str(there.get(name, {}).get("publicCertData") or "")
            if pair.is_replaced_in(public) if sent.get(name) == pair.digest else not pair.is_in(public):
                unsent[name] = pair
        return digests, unsent

    async def _announce(self, world: World, assembled: Assembled, shown: Document) -> None:
        """Record which Ingresses are served, now that the gateway has what they ask for."""
        public: list[Address] = []
        private: list[Address] = []
        for item in shown["properties"].get("frontendIPConfigurations") or ():
            given = item.get("properties") or {}
            if resource := (given.get("publicIPAddress") or {}).get("id"):
                try:
                    address = (await self._get(str(resource))).get("properties") or {}
                except _AzureFailed as failed:
                    if isinstance(failed.failure, Absent | Denied):
                        # What was announced stays: the gateway goes on, and its address can't be read now.
                        return
                    raise
                ip, name = address.get("ipAddress", ""), (address.get("dnsSettings") or {}).get("fqdn", "")
                public += [Address(ip) if ip else Address(hostname=name)] if ip or name else []
            elif ip := given.get("privateIPAddress"):
                private.append(Address(ip))
        left_out = set(assembled.left_out)
        served = {name: private if name in world.private else public for name in world.parts.owners}
        await self._records.publications({name: found for name, found in served.items() if name not in left_out})

    async def _keep(self, assembled: Assembled, certificates: Mapping[str, str]) -> None:
        """Record what the gateway has, now that no write is under way."""
        await self._remember(Published(assembled.made, tuple(sorted(certificates.items())), self._learned.listed))

    async def _remember(self, published: Published) -> None:
        if published != self.published:
            await self._records.published(published)
            self.published = published


def _complete(shown: Document) -> Document:
    """The gateway as shown. Raises ``_AzureFailed`` if collections are missing that every gateway has: what is not
    shown would be removed."""
    properties = shown.get("properties")
    there = properties if isinstance(properties, Mapping) else {}
    if missing := [name for name in _ALWAYS_SHOWN if not isinstance(there.get(name), list)]:
        words = f"the answer lacks {', '.join(missing)} of the gateway, so it is incomplete"
        raise _AzureFailed(Unavailable(words))
    return shown


def _state(shown: Document) -> str:
    return str((shown.get("properties") or {}).get("provisioningState") or "Succeeded")


def _secrets(document: Mapping[str, Any]) -> dict[str, str]:
    """Our certificates in an assembled document: name → the name of its Secret."""
    items = document["properties"].get(_CERTIFICATES) or ()
    return {str(item["name"]): str(item["properties"]["secret"]) for item in items if "digest" in item["properties"]}


def _without_digests(document: Document) -> Document:
    found = copy.deepcopy(document)
    for item in found["properties"].get(_CERTIFICATES) or ():
        if "digest" in item["properties"]:
            item["properties"] = {}
    return found


def _with_data(document: Document, unsent: Mapping[str, Pair]) -> Document:
    """The document as it is sent: with the data of certificates that Azure does not have yet. Raises ``ValueError``."""
    found = copy.deepcopy(document)
    for item in found["properties"].get(_CERTIFICATES) or ():
        if "digest" in item["properties"]:
            place, pair = item["properties"]["secret"], unsent.get(item["name"])
            try:
                item["properties"] = {"data": pair.pfx(), "password": PASSWORD} if pair is not None else {}
            except ValueError as error:
                raise ValueError(f"Secret {place}: {error}") from None
    return found
