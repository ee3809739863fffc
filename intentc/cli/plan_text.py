"""Formats a plan for a terminal: what the user changes and what follows, or what is due anyway, and a summary line.

``plan_reactions`` formats the comparison of maps, with ``change_lines`` from here. It returns lines, and prints
nothing. It reads NO_COLOR from the environment.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click
import msgspec

from .file_lines import line_of

if TYPE_CHECKING:
    from intentc.inspection.differences import Field
    from intentc.offline.preview.report import Change, Plan, Summary

_SIGNS = {"create": ("+", "green"), "update": ("~", "yellow"), "delete": ("-", "red")}
_LONGEST_VALUE = 160
_FIELDS_OF_NEW = 12


def lines(plan: Plan) -> Iterator[str]:
    """The whole plan, line by line."""
    for title, changes in (("You change:", plan.applied), ("Follows from it:", plan.follows)):
        if changes:
            yield title
            for change in changes:
                yield from change_lines(change)
            yield ""
    if plan.numbers:
        yield "Numbers (the server chooses new ones):"
        for number in plan.numbers:
            sign = "+" if number.action == "given" else "-"
            yield f"  {_coloured(sign)} {number.pool}: {_of(number.shown, number.owner)}"
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
    """A known number with its owner; a placeholder already names the owner."""
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
