"""What the states are called, how they look, and which command goes on from there.

Why it exists: the pages use the words of the commands and the JSON, and people who meet one for the first time at
3 a.m. must find beside it what it means. Nothing here decides anything.
"""

from __future__ import annotations

import shlex

STATES = {
    "in order": ("good", "it is as it should be"),
    "queued": ("busy", "it is in a queue and will be worked on next"),
    "planned": ("busy", "a write is planned, and nothing may be written now"),
    "waiting": ("busy", "something has to come first"),
    "delayed": ("warn", "the last write failed in a way that time may heal; it is tried again by itself"),
    "paused": ("warn", "an operator has paused it"),
    "dropped": ("warn", "an operator has given it up until its resource changes"),
    "withheld": ("warn", "its deletion is one of many, and waits for leave"),
    "held": ("bad", "it can't be compiled now; what it made stays as it is"),
    "suspect": ("bad", "its evaluation ended the process before; it is not evaluated again without leave"),
    "unreadable": ("bad", "its value can't be read"),
    "refused": ("bad", "the API server refuses it"),
    "contended": ("bad", "another writer sets it back again and again; it is left alone for a while"),
    "absent": ("quiet", "it is not there"),
}
"""State → (tone, what it means). The tones are classes of the style; the word always stands beside the colour."""

ROLES = {
    "lower": "a compiler makes it",
    "higher": "people wrote it, and it is compiled",
    "both": "it is compiled, and compilers write into it",
    "fact": "derived between intents; not stored",
    "none": "neither compiled nor made; what is compiled may read it",
}

OWNERSHIPS = {
    "ours": "it has our mark: made here, and removed once nobody claims it",
    "shared": "several may claim it; it goes once nobody does",
    "system": "it was there from the start",
    "user's": "people made it; compilers write only the fields and references that are theirs",
    "another installation's": "it has another installation's mark, and is never touched",
    "copy": "it has our mark, but is a copy of what we made; it is never touched",
}

SEVERITIES = {"error": "bad", "warning": "warn", "note": "quiet"}
"""Of findings about a reaction map → tone."""

_QUARANTINE_COMMANDS = {
    "paused": "intentc resume",
    "unreadable": "intentc why",
}
_RETRY = "intentc quarantine retry"


def tone(state: str) -> str:
    """How a state looks."""
    return STATES.get(state, ("quiet", ""))[0]


def meaning(state: str) -> str:
    """What a state means, in a sentence; empty for one that nobody knows."""
    return STATES.get(state, ("", ""))[1]


def command(program: str, kind: str, name: str) -> str:
    """A line for a shell: ``program`` about one resource."""
    return shlex.join([*program.split(), kind, name])


def quarantine_command(state: str, kind: str, name: str, on: tuple[str, str] | None = None) -> str:
    """The command that ends what is quarantined so, or tells more where only a mended resource does: the one in
    quarantine, or the one that it reads, ``on``."""
    if on is not None:
        return command("intentc why", *on)
    if state == "withheld":
        return shlex.join(["intentc", "allow-deletes", kind])
    return command(_QUARANTINE_COMMANDS.get(state, _RETRY), kind, name)
