"""Makes a plan: reads the live state, and carries out an input over a copy of it, as the commands would.

Why apart from ``plan``: ``apply`` of a saved plan makes the plan again and carries it out, and ``plan_reactions``
compares maps over such copies. ``offline.preview`` defines what a plan is.

It reads etcd, the API server and input files, and reports progress on stderr. Making a plan writes nothing to the live
system. ``carry_out`` writes to the server of its client: the copy's for a plan, the live one for ``apply``.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import click
import msgspec

from .errors import CommandError

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration
    from intentc.loading.resources import Loaded as Resource
    from intentc.model import Key, Schema
    from intentc.offline.preview import Gathered, Trial
    from intentc.offline.preview.report import Input, Saved
    from intentc.plugins import Loaded
    from intentc.writing.connection import Connection

    from .client import ApiClient
    from .transfer import Done


class Made(NamedTuple):
    """A plan in the form that is saved, and the revision of each resource. ``before``, ``after``: the lower-level
    resources, if they were asked for."""

    saved: Saved
    seen: Mapping[Key, int]
    before: Sequence[Mapping[str, Any]] = ()
    after: Sequence[Mapping[str, Any]] = ()


class Impossible(CommandError):
    """An input can't be carried out over the current state."""


def input_of(given: Iterable[str], *, delete: bool, kind: str | None, remove_references: bool) -> Input:
    """The input that the arguments of ``apply`` or ``delete`` mean, with the files' texts. Raises ``InvalidInput``."""
    from intentc.loading.resources import read_texts
    from intentc.offline.preview.report import Input, Text

    if kind is not None:
        return Input(delete=True, kind=kind, names=tuple(given), remove_references=remove_references)
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


async def make_plan(given: Input, configuration: Configuration, salt: str = "", *, with_outputs: bool = False) -> Made:
    """The plan for an input over the current state. ``salt``: that of the saved plan to compare with. Raises
    ``CommandError``, ``InvalidInput`` and ``Failure``. An empty input changes nothing: the plan has what is due.
    ``with_outputs``: with the lower-level resources, too."""
    from intentc.model import Key
    from intentc.offline.preview import plan
    from intentc.offline.preview.report import Saved
    from intentc.plugins import installed

    from .file_lines import located

    compilers = installed(configuration)
    resources = resources_of(given, compilers.schema) if given.texts else []
    gathered = await live(compilers, configuration)
    salt = salt or secrets.token_hex(16)
    trial = trial_over(gathered, compilers, configuration, "\n".join(text.text for text in given.texts))

    async def work(connection: Connection) -> Collection[Key]:
        if not (resources or given.kind):
            return ()
        return await _carry_out(connection, given, resources, compilers.schema)

    before: list[dict[str, Any]] = []
    try:
        if with_outputs:
            await trial.rest()
            before = trial.outputs()
        made = await plan(trial, work, progress=progress, salt=salt)
        after = trial.outputs() if with_outputs else []
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
    seen = {Key(one.kind, one.uuid): one.mod_revision for one in gathered.snapshot.changes}
    return Made(saved, seen, before, after)


async def live(compilers: Loaded, configuration: Configuration) -> Gathered:
    """Read the current state. Raises ``CommandError`` and ``Failure``."""
    from intentc.offline import AllocationsUnreadable
    from intentc.offline.preview import gather
    from intentc.writing.http import http_services

    from .connecting import api_server, etcd_store, unreadable_allocations

    settings, endpoint, path = configuration.intentc, api_server(configuration), configuration.etcd.path
    store = etcd_store(configuration)
    progress("reading the current state")
    try:
        async with http_services(endpoint, compilers.schema, pools=compilers.pools) as (_, read):
            gathered = await gather(store, read, compilers.schema, path=path, installation=settings.installation)
    except AllocationsUnreadable as error:
        raise unreadable_allocations(error, endpoint.url) from None
    finally:
        progress("")
        with anyio.CancelScope(shield=True):
            await store.close()
    if not gathered.snapshot.changes:
        raise CommandError(
            f"nothing lies under /{path}/, so there is nothing to plan over",
            where="etcd.path",
            next_step="set it to the path under which the API server keeps its resources",
        )
    return gathered


def trial_over(gathered: Gathered, compilers: Loaded, configuration: Configuration, text: str = "") -> Trial:
    """A copy of the current state with compilers of the service's settings and limits. ``text``: as for ``Trial``."""
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
    """Carry out an input at the server of ``client``. ``seen``: as for ``apply_by``."""
    from .applying import apply_by
    from .deleting import delete_by, delete_named
    from .ordering import fq_name_of

    if given.kind:
        return await delete_named(
            client, schema, given.kind, given.names, seen, remove_references=given.remove_references
        )
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
        # The user can't look at our own copy.
        where = "" if client.url in error.where else error.where
        raise Impossible(error.what, where=where, next_step=error.next_step, code=error.code) from None
    return client.touched


def progress(text: str) -> None:
    """Show ``text`` on a terminal, in place of the text before."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{text}", nl=False, err=True)
