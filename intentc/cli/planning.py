"""Making a plan: the live world is gathered, and an input carried out over a copy of it, as the commands would do.

Why apart from ``plan``: applying a saved plan makes the plan anew. What a plan is, is ``preview``'s business.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import anyio
import click
import msgspec

from .errors import CommandError, Exit

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration
    from intentc.loading.resources import Loaded as Resource
    from intentc.model import Key, Schema
    from intentc.offline.preview import Gathered, Trial
    from intentc.offline.preview.saved import Input, Saved
    from intentc.plugins import Loaded
    from intentc.writing.connection import Connection

    from .client import ApiClient
    from .transfer import Done


class Made(NamedTuple):
    """A plan as it would be saved, and the revision at which each resource stood."""

    saved: Saved
    seen: Mapping[Key, int]


class Impossible(CommandError):
    """An input can't be carried out in the world of now, for reasons of that world."""


def input_of(given: Iterable[str], *, delete: bool, kind: str | None, let_go: bool) -> Input:
    """What the arguments of ``apply`` and ``delete`` mean, files read. Raises ``InvalidInput``."""
    from intentc.loading.resources import read_texts
    from intentc.offline.preview.saved import Input, Text

    if kind is not None:
        return Input(delete=True, kind=kind, names=tuple(given), let_go=let_go)
    return Input(texts=tuple(Text(*one) for one in read_texts(given)), delete=delete)


def resources_of(given: Input, schema: Schema) -> list[Resource]:
    """The resources in an input's texts, targets first. Raises ``InvalidInput``, also if there are none."""
    from intentc.loading.resources import resources_in_texts
    from intentc.model import InvalidInput

    from .ordering import targets_first
    from .transfer import faultless

    resources = faultless(*resources_in_texts([(text.source, text.text) for text in given.texts], schema), schema)
    if not resources:
        raise InvalidInput(f"no resources in {', '.join(text.source for text in given.texts)}", reason="Empty")
    return targets_first(resources, schema)


async def make_plan(given: Input, configuration: Configuration, salt: str = "") -> Made:
    """The plan for an input, over the world of now. ``salt``: of the saved plan with which it is going to be compared.
    Raises ``CommandError``, ``InvalidInput`` and ``StoreError``."""
    from intentc.model import Key
    from intentc.offline.preview import plan
    from intentc.offline.preview.saved import Saved
    from intentc.plugins import installed

    from .places import located

    compilers = installed(configuration)
    resources = [] if given.kind else resources_of(given, compilers.schema)
    gathered = await live(compilers, configuration)
    salt = salt or secrets.token_hex(16)
    trial = trial_over(gathered, compilers, configuration, "\n".join(text.text for text in given.texts))

    async def work(connection: Connection) -> Collection[Key]:
        return await _carry_out(connection, given, resources, compilers.schema)

    try:
        made = await plan(trial, work, progress=progress, salt=salt)
    finally:
        progress("")
    problems = tuple(located(problem, resources) for problem in made.problems)
    saved = Saved(
        cluster_id=gathered.cluster_id,
        path=configuration.etcd.path,
        salt=salt,
        input=given,
        plan=msgspec.structs.replace(made, problems=problems),
    )
    return Made(saved, {Key(one.kind, one.uuid): one.mod_revision for one in gathered.snapshot.changes})


async def live(compilers: Loaded, configuration: Configuration) -> Gathered:
    """The world as it is now. Raises ``CommandError`` and ``StoreError``."""
    from intentc.offline.preview import gather
    from intentc.writing import Throttled, Unreachable, WriteError
    from intentc.writing.http import http_services

    from .connecting import api_server, etcd_store

    settings, endpoint, path = configuration.intentc, api_server(configuration), configuration.etcd.path
    store = etcd_store(configuration)
    progress("reading the world")
    try:
        async with http_services(endpoint, compilers.schema, pools=compilers.pools) as (_, read):
            gathered = await gather(store, read, compilers.schema, path=path, installation=settings.installation)
    except WriteError as error:
        away = isinstance(error, Unreachable | Throttled)
        raise CommandError(
            f"the ledger of numbers can't be read: {error}",
            where=endpoint.url,
            next_step="see that the API server runs, and that client and keystone are right",
            code=Exit.UNREACHABLE if away else Exit.INVALID,
        ) from None
    finally:
        progress("")
        with anyio.CancelScope(shield=True):
            await store.close()
    if not gathered.snapshot.changes:
        raise CommandError(
            f"nothing lies under /{path}/, so there is nothing to plan over",
            where="etcd.path",
            next_step="see that it is the path under which the API server keeps its resources",
        )
    return gathered


def trial_over(gathered: Gathered, compilers: Loaded, configuration: Configuration, text: str = "") -> Trial:
    """A copy of the world with compilers that have the service's settings and limits. ``text``: as for ``Trial``."""
    from intentc.offline.preview import Trial
    from intentc.planning import DeleteGuard

    settings = configuration.intentc
    limits = settings.limits
    return Trial(
        compilers,
        gathered,
        installation=settings.installation,
        settings=settings.settings,
        guard=DeleteGuard(limits.max_deletes, limits.max_deletes_percent / 100),
        text=text,
    )


async def carry_out(
    client: ApiClient, given: Input, resources: list[Resource], schema: Schema, seen: Mapping[Key, int] | None = None
) -> list[Done]:
    """Do at the server of ``client`` what an input says. ``seen``: as for ``apply_by``."""
    from .applying import apply_by
    from .deleting import delete_by, delete_named
    from .ordering import fq_name_of

    if given.kind:
        return await delete_named(client, schema, given.kind, given.names, seen, let_go=given.let_go)
    if given.delete:
        resources, uuids = await delete_by(client, resources, schema, seen)
        actions = ["deleted" if uuid else "absent" for uuid in uuids]
    else:
        actions = (await apply_by(client, resources, schema, seen)).actions
    return [(resource.kind, fq_name_of(resource), action) for resource, action in zip(resources, actions, strict=True)]


async def _carry_out(
    connection: Connection, given: Input, resources: list[Resource], schema: Schema
) -> Collection[Key]:
    from .client import Touching

    client = Touching(connection)
    try:
        await carry_out(client, given, resources, schema)
    except CommandError as error:
        # A call at our own copy is no place where anybody could look.
        where = "" if client.url in error.where else error.where
        raise Impossible(error.what, where=where, next_step=error.next_step, code=error.code) from None
    return client.touched


def progress(text: str) -> None:
    """On a terminal, one line that is written over again and again."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{text}", nl=False, err=True)
