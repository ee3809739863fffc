"""Authenticates the users of the configuration: issues Keystone v3 tokens, and recognizes them (docs/contrail.md B.3).

Why it exists: Contrail's clients log in before anything else. This is the small part of Keystone that they use, for
static users; with ``no_auth`` nobody is asked. ``authorization`` decides what a caller may do.

A client that goes on with another server over the same etcd, or with this one after its restart, must not log in again.
So each token has a key ``/intentc/apiserver/<path>/token/sha256/<digest>`` with a lease that ends with the token; etcd
never holds the token itself. Every server follows these keys into its ``Sessions``, which answer requests without a
read. A revoked or displaced token is a deleted key.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import anyio
import msgspec

from intentc.loading.configuration.sections import Keystone as KeystoneSection
from intentc.model.events import Change, Snapshot
from intentc.reconcile.failures import Failure
from intentc.watch.protocol import Delete, Put, Store
from intentc.watch.source import Source

from .authorization import Caller
from .documents import Document
from .errors import BadRequest, NotFound, TooManyRequests, Unauthorized, from_store
from .layout import Layout
from .logins import Rate, Session, Sessions, digest_of, network_of

_BURST, _PER_SECOND = 100, 10.0
"""The rate of log-ins of one user."""
_FAILED_BURST, _FAILED_PER_SECOND = 10, 1.0
"""The rate of failed log-ins of one client as one user; all unknown names count as one user."""


@dataclass(frozen=True, slots=True)
class StaticRole:
    """A role in a project. Ids and names may be equal."""

    name: str
    project_id: str
    project_name: str
    domain_id: str = "default"
    domain_name: str = "default"


@dataclass(frozen=True, slots=True)
class StaticUser:
    """A user of the configuration. ``password`` is called at each log-in, since the password may be rotated."""

    id: str
    name: str
    password: Callable[[], str] = field(repr=False)
    domain_id: str = "default"
    domain_name: str = "default"
    roles: tuple[StaticRole, ...] = ()


def static_users(section: KeystoneSection) -> tuple[StaticUser, ...]:
    """The users of Contrail's ``keystone.assignment.data``."""
    return tuple(
        StaticUser(
            user.id or key,
            user.name or user.id or key,
            user.password.reveal,
            user.domain.id or "default",
            user.domain.name or user.domain.id or "default",
            tuple(
                StaticRole(
                    role.name or role.id,
                    role.project.id,
                    role.project.name or role.project.id,
                    role.project.domain.id or "default",
                    role.project.domain.name or role.project.domain.id or "default",
                )
                for role in user.roles
            ),
        )
        for key, user in section.assignment.data.users.items()
    )


class _Domain(msgspec.Struct, frozen=True):
    id: str = ""
    name: str = ""


class _User(msgspec.Struct):
    password: str
    id: str = ""
    name: str = ""
    domain: _Domain = _Domain()


class _Password(msgspec.Struct):
    user: _User


class _Identity(msgspec.Struct):
    methods: list[str]
    password: _Password | None = None


class _Project(msgspec.Struct):
    id: str = ""
    name: str = ""
    domain: _Domain = _Domain()


class _Scope(msgspec.Struct):
    project: _Project | None = None


class _Auth(msgspec.Struct):
    identity: _Identity
    scope: _Scope | None = None


class _LogIn(msgspec.Struct):
    auth: _Auth


class Token(NamedTuple):
    """The result of a log-in: the token's text, and Keystone's description of it."""

    text: str
    body: Document


class Keystone:
    """Issues tokens to ``users`` and recognizes them. ``lifetime``: seconds. ``clock``: monotonic seconds."""

    def __init__(
        self,
        users: Sequence[StaticUser],
        *,
        lifetime: float = 3600,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._users = tuple(users)
        self._lifetime = lifetime
        self._clock = clock
        self.sessions = Sessions(clock)
        self.registry: SharedTokens | None = None
        self._succeeded = Rate(_BURST, _PER_SECOND, clock)
        self._failed = Rate(_FAILED_BURST, _FAILED_PER_SECOND, clock)

    async def log_in(self, body: Any, address: str = "") -> Token:
        """Answer ``POST /auth/tokens`` for a client at ``address``, once all servers may know the token.

        Raises ``BadRequest``, ``TooManyRequests``, and ``Unauthorized``, which never says whether the user or the
        password is wrong. No hash is computed: static passwords are known in plain text, so a log-in is cheap.
        """
        try:
            auth = msgspec.convert(body, _LogIn).auth
        except msgspec.ValidationError as error:
            raise BadRequest(f"this is no Keystone v3 log-in: {error}") from None
        if auth.identity.password is None or auth.identity.methods != ["password"]:
            raise BadRequest("only the method password is served; give identity.password.user")
        wanted = auth.identity.password.user
        user = next((user for user in self._users if _is(user, wanted)), None)
        client = (network_of(address), user.id if user else "")
        # An empty password counts as none: a user without a password must not log in with an empty one.
        known = (user.password() if user else "") or secrets.token_hex()
        if not hmac.compare_digest(known.encode(), wanted.password.encode()) or user is None:
            # Only after the comparison: failures, however many, lock nobody out who knows the password.
            if not self._failed.allows(client):
                raise TooManyRequests(f"too many failed log-ins; at most {_FAILED_PER_SECOND:g} a second is answered")
            self._failed.count(client)
            raise Unauthorized("user or password is wrong")
        if not self._succeeded.allows(user.id):
            raise TooManyRequests(
                f"too many log-ins of this user; at most {_PER_SECOND:g} a second are answered: use a token again"
            )
        self._succeeded.count(user.id)
        roles = _roles(user, auth.scope)
        return await self._give(user, roles)

    async def log_out(self, token: str, subject: str) -> None:
        """Answer ``DELETE /auth/tokens``: end ``subject``, a token of the same user as ``token``, on all servers.

        Raises ``Unauthorized``, and ``NotFound`` for a token that is not valid or another user's."""
        own, other = self._session(token), self.sessions.find(digest_of(subject))
        if other is None or other.user != own.user:
            raise NotFound("X-Subject-Token is no valid token of this user")
        if self.registry is not None:
            await self.registry.revoke(digest_of(subject))
        self.sessions.remove(digest_of(subject))

    def learn(self, digest: str, user_id: str, project_id: str, seconds: float) -> None:
        """Accept a token that another server has issued, with the roles that the configuration gives now. One of a
        user or project that it doesn't name is not accepted."""
        user = next((user for user in self._users if user.id == user_id), None)
        if user is None:
            return
        roles = [role for role in user.roles if role.project_id == project_id]
        if project_id and not roles:
            return
        self.sessions.add(digest, Session(user.id, _caller(user, roles), self._clock() + seconds))

    def caller(self, token: str) -> Caller:
        """The caller of a request with ``X-Auth-Token``. Raises ``Unauthorized``."""
        return self._session(token).caller

    def _session(self, token: str) -> Session:
        session = self.sessions.find(digest_of(token))
        if session is None:
            raise Unauthorized("the token is missing, unknown or expired; log in at /keystone/v3/auth/tokens")
        return session

    async def _give(self, user: StaticUser, roles: Sequence[StaticRole]) -> Token:
        text = secrets.token_hex(32)
        digest = digest_of(text)
        project = roles[0].project_id if roles else ""
        session = Session(user.id, _caller(user, roles), self._clock() + self._lifetime)
        displaced = self.sessions.add(digest, session)
        if self.registry is not None:
            try:
                await self.registry.publish(digest, session, self._lifetime, displaced)
            except BaseException:
                self.sessions.remove(digest)
                raise
        issued = datetime.now(UTC)
        domain = {"id": user.domain_id, "name": user.domain_name}
        body: Document = {
            "methods": ["password"],
            "user": {"id": user.id, "name": user.name, "domain": domain},
            "roles": [{"id": role.name, "name": role.name} for role in roles],
            "issued_at": issued.isoformat(timespec="microseconds"),
            "expires_at": (issued + timedelta(seconds=self._lifetime)).isoformat(timespec="microseconds"),
        }
        if roles:
            of_project = {"id": roles[0].domain_id, "name": roles[0].domain_name}
            body["project"] = {"id": project, "name": roles[0].project_name, "domain": of_project}
        return Token(text, {"token": body})


def _caller(user: StaticUser, roles: Sequence[StaticRole]) -> Caller:
    if not roles:
        return Caller("", frozenset(), user_id=user.id)
    first = roles[0]
    return Caller(
        first.project_id,
        frozenset(role.name for role in roles),
        user_id=user.id,
        project_name=first.project_name,
        domain_id=first.domain_id,
        domain_name=first.domain_name,
    )


def _is(user: StaticUser, wanted: _User) -> bool:
    if wanted.id:
        return user.id == wanted.id
    in_domain = wanted.domain.id in ("", user.domain_id) and wanted.domain.name in ("", user.domain_name)
    return bool(wanted.name) and user.name == wanted.name and in_domain


def _roles(user: StaticUser, scope: _Scope | None) -> list[StaticRole]:
    """The roles in the requested project, or in that of the first role. Roles of other projects never count."""
    project = scope.project if scope else None
    if project is None or not (project.id or project.name):
        return [role for role in user.roles if role.project_id == user.roles[0].project_id]
    roles = [
        role
        for role in user.roles
        if (role.project_id == project.id if project.id else role.project_name == project.name)
    ]
    if not roles:
        raise Unauthorized(f"this user has no role in project {project.id or project.name}")
    return [role for role in roles if role.project_id == roles[0].project_id]


_LOGGER = logging.getLogger(__name__)
_DIGEST = "sha256"


class _Stored(msgspec.Struct, frozen=True):
    """``expires``: seconds since 1970. The roles are not stored: they are those of the configuration."""

    user: str
    project: str
    expires: float
    lease: int


class SharedTokens:
    """The tokens that ``keystone`` and the other servers at ``path`` issue."""

    def __init__(self, store: Store, path: str, keystone: Keystone) -> None:
        self._store = store
        self._prefix = Layout(path).index("token")
        self._keystone = keystone
        self._source = Source(store, self._prefix)
        self._leases: dict[str, int] = {}
        self._listed = anyio.Event()

    async def listed(self) -> None:
        """Wait until the tokens that are in etcd are known."""
        await self._listed.wait()

    async def run(self) -> None:
        """Follow the tokens of all servers until cancelled."""
        async with aclosing(self._source.events()) as events:
            async for item in events:
                if isinstance(item, Snapshot):
                    for digest in self._leases.keys() - {change.uuid for change in item.changes}:
                        self._forget(digest)
                # The oldest first, since these are displaced first.
                for change in sorted(item.changes, key=lambda change: change.mod_revision):
                    self._apply(change)
                self._listed.set()

    async def publish(self, digest: str, session: Session, lifetime: float, displaced: list[str]) -> None:
        """Store a new token, and delete those that it displaces. Raises ``ApiError``: then no server knows it."""
        try:
            lease = await self._store.grant_lease(max(1, int(lifetime)))
            stored = _Stored(session.user, session.caller.project_id, time.time() + lifetime, lease)
            put = Put(self._key(digest), msgspec.json.encode(stored), lease)
            await self._store.transaction([], [put, *(Delete(self._key(one)) for one in displaced)])
        except Failure as error:
            raise from_store(error, writing=False) from error
        self._leases[digest] = lease
        for one in displaced:
            await self._end_lease(one)

    async def revoke(self, digest: str) -> None:
        """Delete a token for all servers. Raises ``ApiError``."""
        try:
            await self._store.transaction([], [Delete(self._key(digest))])
        except Failure as error:
            raise from_store(error, writing=True) from error
        await self._end_lease(digest)

    async def _end_lease(self, digest: str) -> None:
        lease = self._leases.pop(digest, 0)
        if lease:
            # Its key is deleted; a lease that stays ends by itself.
            with suppress(Failure):
                await self._store.revoke_lease(lease)

    def _apply(self, change: Change) -> None:
        if change.value is None:
            self._forget(change.uuid)
            return
        try:
            stored = msgspec.json.decode(change.value, type=_Stored)
        except (msgspec.DecodeError, UnicodeDecodeError):
            _LOGGER.warning("the token at %s%s/%s can't be read and is not accepted", self._prefix, *change[:2])
            return
        self._leases[change.uuid] = stored.lease
        self._keystone.learn(change.uuid, stored.user, stored.project, stored.expires - time.time())

    def _forget(self, digest: str) -> None:
        self._leases.pop(digest, None)
        self._keystone.sessions.remove(digest)

    def _key(self, digest: str) -> str:
        return f"{self._prefix}{_DIGEST}/{digest}"
