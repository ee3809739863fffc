"""Explains states, roles and ownerships on the pages, chooses tones, and names the commands that act on them.

Why it exists: the pages use the same words as the commands and the JSON, and each word needs its explanation next to
it.
"""

from __future__ import annotations

import shlex

STATES = {
    "as desired": ("good", "it has its desired state"),
    "queued": ("busy", "it is in a queue"),
    "planned": ("busy", "a write is planned, and nothing may be written now"),
    "waiting": ("busy", "it waits for something else"),
    "delayed": ("warn", "the last write failed; it is tried again with back-off"),
    "paused": ("warn", "an operator has paused it"),
    "dropped": ("warn", "an operator has dropped it until its resource changes"),
    "withheld": ("warn", "its deletion is part of a mass deletion and waits for approval"),
    "held": ("bad", "it can't be compiled now; its outputs stay as they are"),
    "suspect": ("bad", "its evaluation ended the process before; it is not evaluated again without approval"),
    "unreadable": ("bad", "its value can't be read"),
    "rejected": ("bad", "the API server rejects it"),
    "contended": ("bad", "another writer reverts it repeatedly; it backs off, 1 minute to 1 hour"),
    "absent": ("quiet", "it does not exist"),
}
"""State → (tone, explanation). The tones are classes of the style; the word is always shown with the colour."""

ROLES = {
    "output": "a compiler creates it",
    "input": "people wrote it, and it is compiled",
    "both": "it is compiled, and compilers write parts of it",
    "fact": "a derived value between intents; not stored",
    "none": "neither an input nor an output; intents may read it",
}

OWNERSHIPS = {
    "ours": "it has our mark: created here, and deleted once no intent claims it",
    "shared": "several intents may claim it; it is deleted once none does",
    "system": "it existed from the start",
    "user's": "people created it; compilers write only their own fields and references",
    "another installation's": "it has another installation's mark, and is never touched",
    "copy": "it has our mark, but is a copy of an object that we created; it is never touched",
}

SEVERITIES = {"error": "bad", "warning": "warn", "note": "quiet"}
"""Severity of a finding about a reaction map → tone."""

_QUARANTINE_COMMANDS = {
    "paused": "intentc resume",
    "unreadable": "intentc why",
}
_RETRY = "intentc quarantine retry"


def tone(state: str) -> str:
    """Return the tone of a state."""
    return STATES.get(state, ("quiet", ""))[0]


def meaning(state: str) -> str:
    """Return the explanation of a state; empty for an unknown one."""
    return STATES.get(state, ("", ""))[1]


def command(program: str, kind: str, name: str) -> str:
    """Return a shell command: ``program`` for one resource."""
    return shlex.join([*program.split(), kind, name])


def quarantine_command(state: str, kind: str, name: str, on: tuple[str, str] | None = None) -> str:
    """Return the command that ends a quarantine in this state. If only a fix of a resource ends it, the command
    explains that resource: the quarantined one, or the one that it reads, ``on``."""
    if on is not None:
        return command("intentc why", *on)
    if state == "withheld":
        return shlex.join(["intentc", "allow-deletes", kind])
    return command(_QUARANTINE_COMMANDS.get(state, _RETRY), kind, name)
