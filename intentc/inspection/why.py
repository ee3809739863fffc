"""Answers ``GET /why``: everything known about one resource, as the page and the command show it.

This module assembles the answer and keeps it small. Most parts come from modules of their own; the problems, the last
write and the choice of evaluations are made here. Between two evaluations the loop gets its turn if its slice is over.

It reads the engine and the journal. For reasons it has intents evaluated once more: no output changes, but the runner
remembers which of these evaluations failed, and guards each with the time budget and the crash marker's file.
``history``, and ``find`` for a deleted resource, may read the journal's files; ``absence`` ends its search by the
clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import msgspec

from intentc.diagnostics.questions import ObjectState
from intentc.engine.live import Live
from intentc.engine.state_tables import StateTables
from intentc.inspection.absent import NEVER_CREATED, absence
from intentc.inspection.awaited import distinct, entry, for_intent, for_object, for_unclaimed, summed_up
from intentc.inspection.compared import contents_of
from intentc.inspection.dependents import concerns, dependents, missing, outputs, readers_of
from intentc.inspection.finding import Found, find
from intentc.inspection.history import BEFORE, History, history_of
from intentc.inspection.identities import Document, of_key, of_name
from intentc.inspection.journal_lines import DROPPED, ELSEWHERE, evaluation_document, line_document, written_document
from intentc.inspection.part_sources import origins_of, owners_of, parts_shown, reads_shown, reasons_of_parts
from intentc.inspection.pending_references import dangling_references
from intentc.inspection.resource_states import BOTH, FACT, INPUT, NONE, OUTPUT, is_made, ownership_of, role_of, state_of
from intentc.journal import Journal
from intentc.loading.resource_files import ANSWER_VERSION
from intentc.logic import LiveWorld
from intentc.model import Key, Name, Problem


def summary_of(answer: Document, amiss: int) -> str:
    """Summarize ``answer``, in the form of ``GET /why``. ``amiss``: how many of its outputs are not as desired."""
    state = answer["state"]
    head = _head(answer, amiss)
    if state == ObjectState.AS_DESIRED:
        return f"{head}."
    tail = summed_up(answer["waiting_for"])
    if not tail:
        return f"{head}; it is {state}."
    if state == ObjectState.WAITING:
        return f"{head}; it waits for {tail}."
    return f"{head}; it is {state}, and waits for {tail}."


def _head(answer: Document, amiss: int) -> str:
    role, owners = answer["role"], answer["owners"]
    total = answer["owners_total"]
    more = f" and {total - 3} more" if total > 3 else ""
    behind = ", ".join(f"{owner['kind']} {owner['name']}" for owner in owners[:3]) + more
    if role == FACT:
        return f"A value that intents share, in memory only; {total} resources contribute to it: {behind}"
    if not answer["exists"]:
        return (
            f"It does not exist yet: {behind} claims it"
            if behind
            else "It does not exist: only references on it are claimed"
        )
    if role == INPUT or (role == BOTH and answer["ownership"] not in ("ours", "shared")):
        objects = answer["outputs_total"]
        follow = f"{objects} objects follow from it" if objects != 1 else "1 object follows from it"
        if not objects:
            parts = answer["needed_by_total"]
            others = f", but {parts} part{'s' if parts != 1 else ''} of other objects depend on it" if parts else ""
            follow = f"nothing follows from it alone{others}"
        if answer["state"] not in (ObjectState.AS_DESIRED, ObjectState.PLANNED):
            return follow[0].upper() + follow[1:] if objects else "Nothing follows from it so far"
        bad = f", {amiss} of them not as desired" if amiss else ""
        return f"It is compiled: {follow}{bad}" + (", and compilers write parts of it" if _writes(answer) else "")
    if role == NONE:
        read = f"; {answer['concerns_total']} intents read it" if answer["concerns_total"] else ""
        return f"Nothing is compiled from it, and no compiler made it{read}"
    if answer["ownership"] in ("user's", "system", "another installation's"):
        claimed = f", and claimed by {behind}" if behind else ""
        return f"It is not ours{claimed}" + ("; compilers write parts of it" if _writes(answer) else "")
    if answer["ownership"] == "copy":
        return "It carries our mark, but is a copy that we did not make; it stays as it is"
    if not answer["parts_total"] and not owners:
        return "It is ours, and no intent claims it any more"
    return f"It exists because of {behind}" if behind else "Compilers write parts of it"


def _writes(answer: Document) -> bool:
    """Return whether more is claimed than that references stay as they are."""
    return any(part["claim"] != "kept" for part in answer["parts"]) if answer["parts"] else answer["parts_total"] > 0


_OWNERS = 50
_EVALUATIONS = 20
_PROBLEMS = 20
_WAITING = 20
_MOST_BYTES = 180_000


async def why(live: Live, kind: str, name: str, *, part: str = "", offset: int = 0, limit: int = 100) -> dict[str, Any]:
    """Answer a question; the keys are in ``docs/why.md``. Raises ``Unanswerable`` for an unknown kind or an ambiguous
    name."""
    found = await find(live, kind, name)
    return await answer_about(live, found, part=part, offset=offset, limit=limit)


async def answer_about(
    live: Live, found: Found, *, part: str = "", offset: int = 0, limit: int = 100
) -> dict[str, Any]:
    """Answer about the resource that was found."""
    name, key = found.name, found.key
    # Of two objects with one name compilers mean the one in force.
    stored = live.world.schema.kinds[name.kind].stored
    meant = key is None or not stored or live.world.named(*name) == key
    origins = origins_of(live, name) if meant and stored else ()
    role = role_of(live.world, live.planner, name, key)
    intents = _intents(live.world, key, origins)
    history = await history_of(live.world, live.journal, name if role in (OUTPUT, NONE) or origins else None, intents)
    deleted = None
    if key is None and name not in live.planner.book:
        history, deleted = await _deletion(live.world, live.journal, found, history)
    part_reasons = await reasons_of_parts(live, name, origins)
    read = await reads_shown(live.world, intents)
    owners = owners_of(live.world, live.planner, name, origins)
    ownership = ownership_of(live.world, live.planner, name) if meant and role != FACT else None
    if ownership not in (None, "ours", "shared"):
        part_reasons.pop("", None)  # somebody else created it, so its existence has no reason of ours
    answer: dict[str, Any] = {
        "apiVersion": ANSWER_VERSION,
        **(of_key(live.world, key) if key is not None else {**of_name(live.world, name), "uuid": ""}),
        "exists": key is not None,
        "revision": (live.world.mod_revision(key) or None) if key is not None else None,
        "role": role,
        "summary": "",
        "state": state_of(live, name, key),
        "waiting_for": _waiting(live, name, key, made=meant and role != FACT),
        "problems": _problems(live, name, key, origins),
        "ownership": ownership,
        "owners": [of_key(live.world, owner) for owner in owners[:_OWNERS]],
        "owners_total": len(owners),
        **await parts_shown(
            live.world,
            part_reasons,
            await contents_of(live.world, live.planner, name, key),
            part,
            offset,
            limit,
        ),
        **read,
        "evaluations": _evaluations(live, intents, history),
        "written": _written(live, name, key, history),
        "deleted": deleted,
        "history": [line_document(live, line) for line in history.lines],
        "outputs": [],
        "outputs_total": 0,
        "needed_by": [],
        "needed_by_total": 0,
        "needed_by_whole": True,
        "missing": [],
        "named_by": [],
        "named_by_total": 0,
        "concerns": [],
        "concerns_total": 0,
        "candidates": list(found.near),
    }
    amiss = 0
    if key is not None and role != OUTPUT:
        made = await outputs(live, key)
        amiss = made.amiss
        answer |= {"outputs": made.shown, "outputs_total": made.total, "missing": missing(live.world, key)}
        readers = readers_of(live.world, key)
        answer["concerns"], answer["concerns_total"] = concerns(live.world, readers)
        needed = await dependents(live, key, readers)
        answer |= {
            "needed_by": needed.shown,
            "needed_by_total": needed.total,
            "needed_by_whole": needed.whole,
        }
    if key is None and name not in live.planner.book:
        answer |= await _absent(live, name, deleted)
    else:
        answer["summary"] = summary_of(answer, amiss)
    return _fitting(answer)


async def _deletion(
    world: LiveWorld, journal: Journal, found: Found, history: History
) -> tuple[History, Document | None]:
    """Return the history of an absent, unclaimed object, and ``deleted``: when it was deleted; None if it is not known
    to have existed."""
    key = found.former
    if key is not None and history.written is None:
        history = await history_of(world, journal, None, [key])
    ended = history.evaluations.get(key) if key is not None else None
    written = written_document(history.written)
    if written is not None and written["operation"] == "delete":
        return history, {"revision": written["revision"], "at": written["at"], "by": written["by"]}
    if ended is not None:
        return history, {"revision": ended.line.revision, "at": ended.line.at, "by": None}
    return history, {"revision": None, "at": None, "by": None} if key is not None else None


async def _absent(live: Live, name: Name, deleted: Document | None) -> Document:
    """Return the keys that differ in the answer about an absent, unclaimed object."""
    lacking = await absence(live, name)
    summary = lacking.summary
    if deleted is not None:
        when = f" at revision {deleted['revision']}" if deleted["revision"] else ""
        further = "It was not created again." if summary.startswith(NEVER_CREATED) else summary
        summary = f"It was deleted{when}. {further}"
    named = dangling_references(live.world, name)
    return {
        "summary": f"{summary} {named.sentence}".rstrip(),
        "named_by": named.shown,
        "named_by_total": named.total,
        "waiting_for": lacking.waiting_for,
        "problems": _problems(live, name, None, lacking.owners),
        "owners": [of_key(live.world, owner) for owner in lacking.owners],
        "owners_total": len(lacking.owners),
    }


def _intents(world: LiveWorld, key: Key | None, origins: Iterable[Key]) -> list[Key]:
    """Return the intents behind the answer: those that claim the object, its own, or the contributors to a fact."""
    own: list[Key] = []
    if key is not None and key.kind in world.intent_kinds:
        own = [key]
    elif key is not None and not world.schema.kinds[key.kind].stored:
        own = [contributor for contributor, _ in world.contributions(key.kind, key.uuid)]
    return list(dict.fromkeys([*origins, *own]))


def _evaluations(live: Live, intents: list[Key], history: History) -> list[Document]:
    """Return each intent's last evaluation, the latest first, with the intent's present status."""

    def age(intent: Key) -> tuple[int, int]:
        # Without clocks, which may be wrong: lines in memory are later than those of files.
        recorded = history.evaluations.get(intent)
        return (-recorded.sequence, -recorded.line.revision) if recorded is not None else (0, 0)

    shown = []
    for intent in sorted(intents, key=age)[:_EVALUATIONS]:
        document = evaluation_document(live, intent, history.evaluations.get(intent))
        shown.append({**document, "status": _status(live.world, live.states, intent) or document["status"]})
    return shown


def _status(world: LiveWorld, states: StateTables, key: Key) -> str | None:
    """Return how the last evaluation of an intent ended."""
    if key in states.waiting:
        return "waiting"
    if key in states.held or key in world.held:
        return "held"
    return "done" if key in states.evaluated else None


def _written(live: Live, name: Name, key: Key | None, history: History) -> Document | None:
    """Return our last write; for an object of ours without a recorded one, its revision."""
    document = written_document(history.written)
    if document is not None or key is None or ownership_of(live.world, live.planner, name) not in ("ours", "shared"):
        return document
    revision = live.world.mod_revision(key)
    since = DROPPED if live.journal.first > 1 else ELSEWHERE
    by = BEFORE if revision <= live.world.first_listed else since
    return {"operation": None, "revision": revision, "at": None, "by": by}


def _problems(live: Live, name: Name, key: Key | None, intents: Iterable[Key]) -> list[Document]:
    """Return the problems of this resource, and those that the intents behind it report."""
    joined = ":".join(name.fq_name)
    states = live.states
    about = [
        *states.problem_counts.about(name.kind, joined),
        *(states.problem_counts.about(name.kind, key.uuid) if key else ()),
    ]
    if key is not None and (unreadable := live.world.held.get(key)) is not None:
        about.append(unreadable)
    of_intents: list[Problem] = [problem for intent in intents for problem in states.problems_of_run(intent)]
    evaluated = (intent for intent in intents if intent in states.evaluated)
    of_intents += [problem for intent in evaluated if (problem := live.runner.failed_explanation(intent)) is not None]
    of_plan = list(states.problems_of_plan(name))
    problems = dict.fromkeys([*sorted(about), *of_plan, *of_intents])
    return [msgspec.structs.asdict(problem) for problem in islice(problems, _PROBLEMS)]


def _waiting(live: Live, name: Name, key: Key | None, *, made: bool) -> list[Document]:
    if not live.world.listed:
        return [entry("the first listing of etcd", None, "intentc status")]
    found = []
    if key is not None:
        found += list(for_intent(live, key))
    if made:
        found += list(for_object(live, name))
        if key is not None and name not in live.planner.book and is_made(live.world, live.planner, name, key):
            found += list(for_unclaimed(live, name))
    return distinct(found)[:_WAITING]


def _fitting(answer: dict[str, Any]) -> dict[str, Any]:
    """Halve the lists of an answer until it is small enough; the totals stay."""
    lists = (
        "parts",
        "reads",
        "outputs",
        "needed_by",
        "named_by",
        "concerns",
        "history",
        "problems",
        "owners",
        "evaluations",
        "candidates",
    )
    while len(msgspec.json.encode(answer)) > _MOST_BYTES:
        largest = max(lists, key=lambda key: len(msgspec.json.encode(answer[key])))
        if len(answer[largest]) < 2:
            break
        half = len(answer[largest]) // 2
        answer[largest] = answer[largest][-half:] if largest == "history" else answer[largest][:half]
    return answer
