"""Selects and formats what ``intentc status`` shows of a compiler's ``/status``, and derives its exit code.

It reads the clock ("5 s ago").
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from .errors import Exit

UNKNOWN = "unknown"
_DAY = 86400.0

_SELECTED = (
    "converged",
    "healthy",
    "unknown_since",
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
    leading = status.get("leading") or {}
    content["leader"], content["leader_address"] = leading.get("leader"), leading.get("leader_address")
    content["problems"] = problems(status)
    content["quarantined"] = status.get("counts", {}).get("quarantined", len(status.get("quarantine", ())))
    return content


def verdict(status: Mapping[str, Any]) -> int:
    """The exit code. What is unknown is not healthy."""
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
    yield "healthy", _unknown(content, "healthy") or ("yes" if content.get("healthy") else "no")
    found = content.get("problems", 0)
    yield "problems", f"{found:,}: `intentc show problems`" if found else "none"
    leader = content.get("leader")
    role = str(content.get("role", "unknown"))
    address = f" ({there})" if (there := content.get("leader_address")) else ""
    yield "role", f"{role}; {leader} leads{address}" if role != "leader" and leader else role
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
    planned = (content.get("counts") or {}).get("planned", 0)
    if role == "observer":
        yield (
            "would write",
            f"{planned:,} object{'' if planned == 1 else 's'}: `intentc show planned`" if planned else "nothing",
        )
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
    if unknown := _unknown(content, "converged"):
        return unknown
    return "yes" if content.get("converged") else f"no, for {span(content.get('busy_seconds', 0.0))}"


def _unknown(content: Mapping[str, Any], verdict: str) -> str:
    """The text of a verdict that is unknown; empty if it is known."""
    since = content.get("unknown_since")
    return f"{UNKNOWN} since {moment(since)}" if since is not None and content.get(verdict) is None else ""


def moment(since: float) -> str:
    """A time of day (UTC) for people, with the date if it is over a day ago; ``since``: seconds since 1970."""
    form = "%H:%M:%S UTC" if time.time() - since < _DAY else "%Y-%m-%d %H:%M:%S UTC"
    return datetime.fromtimestamp(since, UTC).strftime(form)


def span(seconds: float) -> str:
    """A length of time for people."""
    for size, unit in ((_DAY, "d"), (3600.0, "h"), (60.0, "min")):
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
