"""Selects and formats what ``intentc status`` shows of a compiler's ``/status``, and derives its exit code.

It reads the clock ("5 s ago").

Touches: clock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .errors import Exit

_SELECTED = (
    "converged",
    "healthy",
    "role",
    "applied_revision",
    "lag_revisions",
    "queue",
    "rates",
    "counts",
    "pending_references",
    "pending_work",
    "attention",
    "progress",
    "audit",
    "reload",
    "busy_seconds",
)


def selected(status: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of ``/status`` that ``intentc status`` shows. ``problems``: their number. ``quarantined``: how many
    intents and objects are in quarantine; ``leader``: the process that leads."""
    content = {name: status[name] for name in _SELECTED if name in status}
    content["leader"] = (status.get("leading") or {}).get("leader")
    content["problems"] = problems(status)
    content["quarantined"] = status.get("counts", {}).get("quarantined", len(status.get("quarantine", ())))
    return content


def verdict(status: Mapping[str, Any]) -> int:
    """The exit code."""
    if not status.get("healthy"):
        return Exit.HELD
    return Exit.PROBLEMS if problems(status) else Exit.DONE


def problems(status: Mapping[str, Any]) -> int:
    """The number of problems."""
    return int(status.get("counts", {}).get("problems", 0))


def lines(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The content of ``selected`` as (name, text) for people."""
    if "error" in content:
        yield "not there", content["error"]
        return
    yield "converged", _converged(content)
    yield "healthy", "yes" if content.get("healthy") else "no"
    found = content.get("problems", 0)
    yield "problems", f"{found:,}: `intentc show problems`" if found else "none"
    leader = content.get("leader")
    role = str(content.get("role", "unknown"))
    yield "role", f"{role}; {leader} leads" if role != "leader" and leader else role
    lag = content.get("lag_revisions")
    behind = "unknown yet" if lag is None else f"{lag:,} behind etcd"
    yield "revision", f"{content.get('applied_revision', 0)} applied, {behind}"
    queue = content.get("queue", {})
    yield (
        "queue",
        ", ".join(
            f"{queue.get(name, 0):,} {words}"
            for name, words in (("jobs", "to evaluate"), ("objects", "to plan"), ("in_flight", "being written"))
        ),
    )
    rates = content.get("rates", {})
    yield "rates", f"{rates.get('evaluations', 0):g} evaluations/s, {rates.get('writes', 0):g} writes/s"
    yield "quarantine", f"{content['quarantined']:,}"
    pending = content.get("pending_references", 0)
    yield "references", f"{pending:,} pending{': the target does not exist' if pending else ''}"
    yield "last audit", _audited(content.get("audit"), role)
    if (content.get("reload") or {}).get("last_error"):
        yield "reload", "rejected, the former stays in force"
    if progress := content.get("progress"):
        of = f"{progress['done']:,} of {progress['total']:,}" if progress["total"] else ""
        yield "first load", f"{progress['phase']} {of}".rstrip()
    yield from _listed("waits for", content.get("pending_work", ()))
    yield from _listed("needs you", content.get("attention", ()))


def _converged(content: Mapping[str, Any]) -> str:
    if not content.get("converged"):
        return f"no, for {span(content.get('busy_seconds', 0.0))}"
    return "yes, for what it knows: it does not hear from etcd" if content.get("pending_work") else "yes"


def span(seconds: float) -> str:
    """A length of time for people."""
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _audited(figures: Mapping[str, Any] | None, role: str) -> str:
    if figures is None:
        return "`dev` makes none; `intentc audit` makes one now"
    result = figures["last_result"]
    if result == "never":
        if figures.get("period", 1.0) == 0:
            return "none by itself, intentc.audit.period is 0; `intentc audit` makes one now"
        if role == "observer":
            return "one that observes makes none; `intentc audit` makes one now"
        return "audits are the leader's; ask it" if role == "standby" else "never yet"
    ago = f"judged {span(time.time() - figures['last_success'])} ago" if figures["last_success"] else ""
    if result == "failed":
        before = f"; the last one of revision {figures['last_revision']} was {ago}" if ago else ""
        return f"failed: {figures.get('last_error') or 'see its log'}{before}"
    return f"{result}, at revision {figures['last_revision']}" + (f", {ago}" if ago else "")


def _listed(name: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, text in enumerate(texts or ("nothing",)):
        yield (name if not number else ""), text
