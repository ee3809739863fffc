"""What keeps the consequences of applied or deleted resources from being done, among all that is quarantined.

Why it exists: a system of any size has something held somewhere; whoever applies an innocent file must not be blamed
for it. Which intents are behind an object, and what made an intent run, is asked of the compiler (``/why``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import click

from .errors import CommandError, Exit

if TYPE_CHECKING:
    from intentc.loading.configuration.sections import Diagnostics

Named = tuple[str, str]
"""Kind, and fq_name joined by ``:``."""
_NO_CONSEQUENCE = frozenset({"dropped"})
"""States that an operator wanted."""
_ASKED = 200
"""Entries about which the compiler is asked, those that came last first."""


async def verdict(where: Diagnostics, status: Mapping[str, Any], about: Collection[Named]) -> int:
    """The exit code after ``about`` was applied or deleted: done, or held, with what follows from it and is not done
    named on stderr. Withheld deletions count always, since nobody knows from what they follow."""
    entries = [entry for entry in status.get("quarantine", ()) if entry["state"] not in _NO_CONSEQUENCE]
    stuck = []
    for entry in sorted(entries, key=lambda entry: -(entry.get("since") or 0.0))[:_ASKED]:
        if entry["state"] == "withheld" or _is_about(entry, about) or await _follows(where, entry, about):
            stuck.append(f"{entry['state']}: {entry['kind']} {entry['name'] or entry['uuid']}: {entry['message']}")
    if status.get("observing") and status.get("planned"):
        stuck.append(f"the compiler observes, and has not made {len(status['planned'])} writes")
    for line in stuck:
        click.echo(line, err=True)
    return Exit.HELD if stuck else Exit.DONE


def _is_about(entry: Mapping[str, Any], about: Collection[Named]) -> bool:
    named = [entry, *([entry["on"]] if entry.get("on") else [])]
    return any((one["kind"], one["name"]) in about for one in named)


async def _follows(where: Diagnostics, entry: Mapping[str, Any], about: Collection[Named]) -> bool:
    """Whether an object is there because of one of ``about``, or an intent ran last because one of them changed."""
    from .waiting import asked

    try:
        answer = await asked(where, "/why", {"kind": entry["kind"], "name": entry["name"] or entry["uuid"]})
    except CommandError as error:
        if error.code is Exit.UNREACHABLE:
            raise
        return False
    paths = [evaluation["path"] or () for evaluation in answer.get("evaluations", ())]
    behind = [*answer.get("owners", ()), *(one for path in paths for one in path[:1])]
    return any((one["kind"], one["name"]) in about for one in behind)
