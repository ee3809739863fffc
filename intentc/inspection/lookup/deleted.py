"""Finds deleted resources by a name that no resource has any more.

It searches the journal for intents that ended and for objects that we deleted: first what is in memory; if nothing
there matches, as after a restart, the journal's files, if it has any. ``history`` has the rest of what is known about
them.

It reads the journal and the engine, and changes neither. The journal's files are read in a thread.
"""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from intentc.engine.live import Live
from intentc.evaluation import Status
from intentc.journal.records import Evaluation, Written
from intentc.journal.searching import MOST_SECONDS, search
from intentc.model import Key, Name

from .disk_thread import run_on_disk_thread
from .former_names import former_names

_LOG = logging.getLogger(__name__)
_WAIT = MOST_SECONDS + 1.0
_DELETE = "delete"


class Former(NamedTuple):
    """``key``: the last resource of that name; its uuid is empty if unknown."""

    name: Name
    key: Key


async def former_resources(live: Live, kind: str, text: str) -> list[Former]:
    """Return the deleted resources of ``kind`` whose name was ``text`` or ended with it; each name once. Files are
    searched only if memory has none."""
    journal = live.journal
    found: dict[Name, Former] = {}
    keys = {joined: key for key, joined in journal.names.items() if key.kind == kind and _fits(joined, text)}
    if keys:
        names = await former_names(live.journal, kind, keys)
        found = {name: Former(name, keys[joined]) for joined, name in names.items()}
    if not found and journal.directory is not None:
        work = partial(_former_in_files, journal.directory, kind, text, live.world.revision)
        try:
            found = await run_on_disk_thread(work, name="journal search", within=_WAIT)
        except TimeoutError:
            _LOG.warning("the journal's files in %s can't be read in time; answering without them", journal.directory)
    return [former for former in found.values() if former.name not in live.planner.book]


def _former_in_files(directory: Path, kind: str, text: str, revision: int) -> dict[Name, Former]:
    """Return the same from files. ``revision``: later lines are ignored, since the store was restored to it."""
    ends = msgspec.json.encode(text)[1:]
    last = msgspec.json.encode(text.rpartition(":")[2])[1:]
    found: dict[Name, Former] = {}
    # Names of intents stand as one text at the end of a list, those of objects as lists of texts.
    for one in search(directory, [ends + b"]", last + b"]]"]):
        record = one.record
        if record.revision > revision:
            continue
        if isinstance(record, Evaluation) and record.status == Status.DELETED.value:
            key, joined = record.intent.key, record.intent.name
            name = Name(kind, tuple(joined.split(":")))
        elif isinstance(record, Written) and record.operation == _DELETE:
            name, key = record.object, Key(record.object.kind, record.uuid)
            joined = ":".join(name.fq_name)
        else:
            continue
        if key.kind == kind and _fits(joined, text):
            found.setdefault(name, Former(name, key))
    return found


def _fits(name: str, text: str) -> bool:
    return name == text or name.endswith(f":{text}")
