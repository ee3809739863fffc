"""Finds the quarantine entries that follow from applied or deleted resources, and derives the exit code from them.

Why it exists: a large system always has something held. A user who applies an unrelated file must not see it as an
error. The compiler (``/why``) knows which intents are behind an object, and what made an intent run.

It asks the diagnostics, and prints on stderr.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import click

from .errors import CommandError, Exit
from .quarantined import Entry, whole

if TYPE_CHECKING:
    from intentc.loading.configuration.sections import Diagnostics

Named = tuple[str, str]
"""Kind, and fq_name joined by ``:``."""
_NO_CONSEQUENCE = frozenset({"dropped"})
"""States that an operator chose."""
_ASKED = 200
"""Entries that the running compiler is asked about, the latest first; what is named by itself is found among all."""


async def verdict(where: Diagnostics, status: Mapping[str, Any], about: Collection[Named]) -> int:
    """The exit code after ``about`` was applied or deleted: ``HELD`` if something that follows from it is not done,
    which is listed on stderr. Withheld deletions always count, since their cause is unknown."""
    entries = [entry for entry in await whole(where, status) if entry.state not in _NO_CONSEQUENCE]
    stuck = []
    for place, entry in enumerate(sorted(entries, key=lambda entry: -(entry.since or 0.0))):
        is_certain = entry.state == "withheld" or _is_about(entry, about)
        if is_certain or (place < _ASKED and await _follows(where, entry, about)):
            stuck.append(f"{entry.state}: {entry.kind} {entry.name or entry.uuid}: {entry.message}")
    if status.get("observing") and status.get("planned"):
        stuck.append(f"the compiler observes, and has not made {len(status['planned'])} writes")
    for line in stuck:
        click.echo(line, err=True)
    return Exit.HELD if stuck else Exit.DONE


def _is_about(entry: Entry, about: Collection[Named]) -> bool:
    named = {(entry.kind, entry.name), *([(entry.on["kind"], entry.on["name"])] if entry.on else [])}
    return not named.isdisjoint(about)


async def _follows(where: Diagnostics, entry: Entry, about: Collection[Named]) -> bool:
    """Whether an object exists because of one of ``about``, or an intent last ran because one of them changed."""
    from .waiting import asked

    try:
        answer = await asked(where, "/why", {"kind": entry.kind, "name": entry.name or entry.uuid})
    except CommandError as error:
        if error.code is Exit.UNREACHABLE:
            raise
        return False
    paths = [evaluation["path"] or () for evaluation in answer.get("evaluations", ())]
    behind = [*answer.get("owners", ()), *(one for path in paths for one in path[:1])]
    return any((one["kind"], one["name"]) in about for one in behind)
