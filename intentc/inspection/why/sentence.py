"""Writes the summary of an answer to "why": one sentence for people.

``absent`` writes that of an object that neither exists nor is claimed.

Pure: values in, a sentence out.
"""

from __future__ import annotations

from ..naming import Document
from ..resource_states import AS_DESIRED, BOTH, FACT, INPUT, NONE, PLANNED, WAITING
from .waiting import summed_up


def summary_of(answer: Document, amiss: int) -> str:
    """Summarize ``answer``, in the form of ``GET /why``. ``amiss``: how many of its outputs are not as desired."""
    state = answer["state"]
    head = _head(answer, amiss)
    if state == AS_DESIRED:
        return f"{head}."
    tail = summed_up(answer["waiting_for"])
    if not tail:
        return f"{head}; it is {state}."
    return f"{head}; it waits for {tail}." if state == WAITING else f"{head}; it is {state}, and waits for {tail}."


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
        if answer["state"] not in (AS_DESIRED, PLANNED):
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
