"""Makes a plan over a copy of the live state, carries it out, and formats it for a terminal.

``apply`` of a saved plan makes the plan again and carries it out. ``offline.preview`` defines what a plan is.

Making a plan writes nothing to the live system. ``carry_out`` writes to the server of its client: the copy's for a
plan, the live one for ``apply``.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from intentc.loading.configuration import Configuration
from intentc.loading.resource_files import Loaded as Resource
from intentc.loading.resource_files import read_texts, resources_in_texts
from intentc.model import InvalidInput, Key, Schema

from .command_error import CommandError
from .connecting import current_state, nothing_stored
from .input_files import faultless, fq_name_of, line_of, located, targets_first
from .transfer import Done, apply_by

if TYPE_CHECKING:
    from intentc.inspection.differences import Field
    from intentc.offline.preview import Gathered, Trial
    from intentc.offline.preview.report import Change, Input, Plan, Saved, Summary
    from intentc.plugins import Loaded
    from intentc.writing.connection import Connection

    from .api_client import ApiClient


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
    from intentc.offline.preview.report import Input, Text

    if kind is not None:
        return Input(delete=True, kind=kind, names=tuple(given), remove_references=remove_references)
    return Input(texts=tuple(Text(*one) for one in read_texts(given)), delete=delete)


def resources_of(given: Input, schema: Schema) -> list[Resource]:
    """The resources in an input's texts, targets first. Raises ``InvalidInput``, also if there are none."""
    resources = faultless(*resources_in_texts([(text.source, text.text) for text in given.texts], schema), schema)
    if not resources:
        raise InvalidInput(f"no resources in {', '.join(text.source for text in given.texts)}", reason="Empty")
    return targets_first(resources, schema)


async def make_plan(given: Input, configuration: Configuration, salt: str = "", *, with_outputs: bool = False) -> Made:
    """The plan for an input over the current state. ``salt``: that of the saved plan to compare with. Raises
    ``CommandError``, ``InvalidInput`` and ``Failure``. An empty input changes nothing: the plan has what is due.
    ``with_outputs``: with the lower-level resources, too."""
    from intentc.offline.preview import plan
    from intentc.offline.preview.report import Saved
    from intentc.plugins import installed

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
    from intentc.offline.preview import gather

    installation, path = configuration.intentc.installation, configuration.etcd.path
    progress("reading the current state")
    try:
        async with current_state(configuration, compilers) as (store, read):
            gathered = await gather(store, read, compilers.schema, path=path, installation=installation)
    finally:
        progress("")
    if not gathered.snapshot.changes:
        raise nothing_stored(path, "plan over")
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
    from .deleting import delete_by, delete_named

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
    from .api_client import Touching

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


_SIGNS = {"create": ("+", "green"), "update": ("~", "yellow"), "delete": ("-", "red")}
_LONGEST_VALUE = 160
_FIELDS_OF_NEW = 12


def plan_lines(plan: Plan) -> Iterator[str]:
    """The whole plan, line by line."""
    for title, changes in (("You change:", plan.applied), ("Follows from it:", plan.follows)):
        if changes:
            yield title
            for change in changes:
                yield from change_lines(change)
            yield ""
    if plan.allocations:
        yield "Allocations (the server chooses new values):"
        for allocation in plan.allocations:
            sign = "+" if allocation.action == "given" else "-"
            yield f"  {_coloured(sign)} {allocation.pool}: {_of(allocation.shown, allocation.owner)}"
        yield ""
    yield from _remarks((*plan.applied, *plan.follows))
    for title, problems in (("New problems:", plan.problems), ("Resolved problems:", plan.resolved)):
        if problems:
            yield title
            # Of one resource, several problems may say the same.
            yield from dict.fromkeys(f"  {line_of(problem)}" for problem in problems)
            yield ""
    for withheld in plan.withheld:
        yield f"{withheld.count} deletes of {withheld.kind} wait for `intentc allow-deletes {withheld.kind}`."
    if plan.due:
        count = len(plan.due)
        yield (
            f"The live system is not converged: {count} {'write is' if count == 1 else 'writes are'} due anyway, "
            "and not part of this plan."
        )
        yield from (f"  {remark}" for change in plan.due for remark in change.remarks)
    yield _summed_up(plan, plan.summary)


def lines_of_due(plan: Plan) -> Iterator[str]:
    """What is due without an input, and what it means."""
    if plan.due:
        yield "Due with this configuration:"
        for change in plan.due:
            yield from change_lines(change)
        yield ""
    yield from _remarks(plan.due)
    yield _summed_up(plan, plan.due_summary)


def _remarks(changes: Iterable[Change]) -> Iterator[str]:
    """What compilers say that the changes mean."""
    if remarks := [remark for change in changes for remark in change.remarks]:
        yield "Remarks:"
        yield from (f"  {remark}" for remark in remarks)
        yield ""


def _summed_up(plan: Plan, found: Summary) -> str:
    """The last line."""
    how = f"(revision {plan.revision}, {plan.seconds:.1f} s)"
    if found.nothing:
        return f"No difference: nothing would be written {how}."
    return f"Plan: {found.create} to create, {found.update} to change, {found.delete} to delete {how}."


def _of(shown: str, owner: str) -> str:
    """A known value with its owner; a placeholder already names the owner."""
    return shown if shown.startswith("<") else f"{shown} of {owner}"


def change_lines(change: Change) -> Iterator[str]:
    """One resource: the action and its reason, and the fields below."""
    sign, colour = _SIGNS[change.action]
    owners = ", ".join(f"{owner.kind} {owner.name}" for owner in change.because)
    because = f"   because of {owners}" if owners else ""
    yield f"  {_coloured(sign, colour)} {change.kind} {change.name}{because}"
    fields = change.fields
    shown = fields if change.action == "update" else fields[:_FIELDS_OF_NEW]
    for field in shown:
        yield f"      {_field(field, plain=change.action == 'create')}"
    if len(fields) > len(shown):
        yield f"      … {len(fields) - len(shown)} more fields; -o json shows all"


def _field(field: Field, *, plain: bool) -> str:
    if plain:
        return f"{field.field}{_after_colon(field.after)}"
    if field.before is None:
        return f"{_coloured('+')} {field.field}{_after_colon(field.after)}"
    if field.after is None:
        return f"{_coloured('-')} {field.field}{_after_colon(field.before)}"
    return f"{field.field}: {_value(field.before)} → {_value(field.after)}"


def _after_colon(value: Any) -> str:
    """The value after a colon; empty for a reference without an attribute, whose name is enough."""
    return "" if value == {} else f": {_value(value)}"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) and value else msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _coloured(sign: str, colour: str = "") -> str:
    """``sign`` in its colour; click removes colours if the output is not a terminal."""
    if os.environ.get("NO_COLOR"):
        return sign
    return click.style(sign, fg=colour or {"+": "green", "-": "red"}[sign])
