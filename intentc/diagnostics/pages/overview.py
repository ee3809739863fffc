"""Shapes the overview (verdicts, pending work, and figures that show whether to act), and the top of every page.

Why it exists: ``/status`` has too many keys for a person. This module gives those that an operator needs a place, a
label, a tone, a hint and a link. A figure whose key is missing is a dash, unless its absence has a meaning (no audit:
off; nobody else leads: alone; no count of what is quarantined: as many as are listed; at the top, no count of problems:
0).

Pure: a status in, template values out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .rendering import iso, link, number, utc

PROBLEMS = 20
"""Most problems on this page; the problems view has all of them."""
MOST_LINES = 12
_SILENT = "etcd or the API server has not answered"


class Figure(NamedTuple):
    """``value`` with its ``label``. ``live``: its key in the status events, ``a.b`` for nested keys. ``hint``: what it
    means. ``href``: the page with details. ``tone``: its style; ``alarm``: its style if it is not zero, or differs from
    ``unless``. ``since``: seconds since 1970, if the value is a time."""

    label: str
    value: str
    live: str = ""
    hint: str = ""
    href: str = ""
    tone: str = ""
    alarm: str = ""
    unless: str = ""
    since: float | None = None


class Verdict(NamedTuple):
    """One of the two verdicts: whether it holds (None: unknown), and what that means, ``texts`` (if not, if so, if
    unknown). ``since``: since when it is unknown, in seconds since 1970."""

    name: str
    holds: bool | None
    bad: str
    """The tone if it does not hold."""
    texts: tuple[str, str, str]
    since: float | None = None

    @property
    def tone(self) -> str:
        return "warn" if self.holds is None else "good" if self.holds else self.bad

    @property
    def word(self) -> str:
        return f"{self.name} unknown" if self.holds is None else self.name if self.holds else f"not {self.name}"

    @property
    def text(self) -> str:
        if self.holds is not None:
            return self.texts[self.holds]
        return self.texts[2] + (f" since {utc(self.since)}" if self.since is not None else "")


def verdicts(status: Mapping[str, Any]) -> tuple[Verdict, Verdict]:
    """Return the two independent verdicts: converged and healthy."""
    since = status.get("unknown_since")
    return (
        Verdict(
            "converged",
            _known(status, "converged"),
            "busy",
            (
                "there is work to do, or something to wait for",
                "nothing is left to do for the applied inputs",
                _SILENT,
            ),
            since,
        ),
        Verdict(
            "healthy",
            _known(status, "healthy"),
            "bad",
            (
                "something needs operator action: see the quarantine",
                "nothing is held, rejected, contended or withheld",
                _SILENT,
            ),
            since,
        ),
    )


def _known(status: Mapping[str, Any], verdict: str) -> bool | None:
    """Return a verdict; None if the status says that it is unknown. A status without it is of a start."""
    return None if verdict in status and status[verdict] is None else bool(status.get(verdict))


def strip(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values on top of every page: the verdicts, the number of problems, the role, and the lag."""
    return {
        "verdicts": verdicts(status),
        "problems": number(status.get("counts", {}).get("problems", 0)),
        "role": role(status),
        "lag": number(status.get("lag_revisions")),
        "applied": status.get("applied_revision", ""),
    }


def role(status: Mapping[str, Any]) -> str:
    """Return the role of this process: ``leader``, ``standby``, ``alone`` or ``observer``."""
    if known := status.get("role"):
        return str(known)
    if status.get("observing"):
        return "observer"
    leading = status.get("leading")
    if leading is None:
        return "alone"
    return "leader" if leading.get("leads") else "standby"


def overview(status: Mapping[str, Any], ready: tuple[bool, tuple[str, ...]]) -> dict[str, Any]:
    """Return the template's values. ``ready``: the result of ``Process.ready``."""
    pending_work = [str(text) for text in status.get("pending_work") or ()]
    reasons = [reason for reason in ready[1] if reason not in pending_work]
    attention = [str(text) for text in status.get("attention") or ()]
    withheld: Mapping[str, str] = status.get("writing", {}).get("withheld", {})
    problems = status.get("problems", [])
    return {
        "pending_work": pending_work[:MOST_LINES],
        "pending_work_total": len(pending_work),
        "attention": attention[:MOST_LINES],
        "not_ready": reasons,
        "withheld": [f"{reason}: {text}" for reason, text in withheld.items()],
        "progress": status.get("progress"),
        "groups": [
            ("This process", _process(status)),
            ("Work", _work(status)),
            ("Attention", _for_people(status)),
            ("Checks", _checks(status)),
        ],
        "complete": status.get("first_pass_complete", True),
        "problems": problems[:PROBLEMS],
        "problems_total": status.get("counts", {}).get("problems", len(problems)),
    }


def _process(status: Mapping[str, Any]) -> list[Figure]:
    watch, server = status.get("watch", {}), status.get("api_server", {})
    leading = status.get("leading") or {}
    phase = watch.get("phase", "")
    permitted = status.get("writing", {}).get("permitted")
    return [
        Figure("role", role(status), "role", "leader and alone write; a standby takes over; an observer never writes"),
        Figure(
            "leader",
            str(leading.get("leader") or "–"),
            "leading.leader",
            f"the process that may write now; its diagnostics: {leading.get('leader_address') or 'not known'}",
        ),
        Figure(
            "may write",
            number(permitted),
            "writing.permitted",
            "whether it may write now",
            tone="" if permitted or permitted is None else "warn",
            alarm="warn",
            unless="yes",
        ),
        Figure(
            "etcd",
            phase or "–",
            "watch.phase",
            watch.get("last_error") or "the phase of the watch on etcd",
            tone="" if phase in ("", "watching") else "warn",
            alarm="warn",
            unless="watching",
        ),
        Figure("applied revision", number(status.get("applied_revision")), "applied_revision", "of etcd"),
        Figure("lag", number(status.get("lag_revisions")), "lag_revisions", "revisions seen and not yet applied"),
        Figure(
            "API server answers",
            number(server.get("reachable")),
            "api_server.reachable",
            "whether it answered the last request; an idle process asks every 10 s",
            tone="warn" if server.get("reachable") is False else "",
            alarm="warn",
            unless="yes",
        ),
        Figure(
            "API server fences",
            number(server.get("fences")),
            "",
            "whether the API server rejects writes of former leaders",
        ),
    ]


def _work(status: Mapping[str, Any]) -> list[Figure]:
    counts, counters = status.get("counts", {}), status.get("counters", {})
    return [
        Figure("intents queued", number(status.get("queue", {}).get("jobs")), "queue.jobs", "to be evaluated"),
        Figure("objects queued", number(status.get("queue", {}).get("objects")), "queue.objects", "to be compared"),
        Figure("writes in flight", number(status.get("queue", {}).get("in_flight")), "queue.in_flight"),
        Figure("evaluations", number(counters.get("evaluations")), "counters.evaluations", "since the start"),
        Figure("evaluations / s", number(status.get("rates", {}).get("evaluations")), "rates.evaluations"),
        Figure("writes", number(counters.get("writes")), "counters.writes", "since the start"),
        Figure("writes / s", number(status.get("rates", {}).get("writes")), "rates.writes"),
        Figure(
            "intents as desired",
            number(counts.get("evaluated")),
            "counts.evaluated",
            "whose evaluation is complete",
        ),
    ]


_PEOPLE = (
    ("held", "bad", "intents that can't be compiled now", "/pages/quarantine"),
    ("rejected", "bad", "objects that the API server rejects", "/pages/quarantine"),
    ("contended", "bad", "objects that another writer reverts", "/pages/quarantine"),
    ("delayed", "warn", "failed writes, tried again with back-off", link("/pages/objects", state="delayed")),
    ("waiting", "busy", "intents that wait for something else", link("/pages/objects", state="waiting")),
    ("paused", "warn", "by an operator", "/pages/quarantine"),
    ("dropped", "warn", "by an operator, until their resources change", "/pages/quarantine"),
    ("withheld_deletes", "warn", "objects whose deletion waits for approval", "/pages/quarantine"),
    ("planned", "busy", "objects to write once writes are permitted", link("/pages/objects", state="planned")),
    ("problems", "warn", "what people must fix in resources", "/views/problems?pretty"),
)
"""Name under ``counts``, tone if there are any, what it counts, the page that lists them."""


def _for_people(status: Mapping[str, Any]) -> list[Figure]:
    counts = status.get("counts", {})
    quarantined = counts.get("quarantined", len(status.get("quarantine", ())))
    figures = [
        Figure(
            "quarantined",
            number(quarantined),
            "counts.quarantined",
            "what needs operator action, each with its reason",
            "/pages/quarantine",
            tone="bad" if quarantined else "",
            alarm="bad",
        )
    ]
    figures += [
        Figure(
            name.replace("_", " "),
            number(counts.get(name)),
            f"counts.{name}",
            hint,
            href,
            tone=alarm if counts.get(name) else "",
            alarm=alarm,
        )
        for name, alarm, hint, href in _PEOPLE
    ]
    pending = status.get("pending_references")
    hint = "references whose target does not exist"
    return [*figures, Figure("pending references", number(pending), "pending_references", hint, "/pending?pretty")]


def _checks(status: Mapping[str, Any]) -> list[Figure]:
    audit, counters = status.get("audit") or {}, status.get("counters", {})
    watch = status.get("watch", {})
    mismatches = audit.get("mismatches")
    missing = counters.get("missing_reactions")
    return [
        _audited(status),
        Figure(
            "audit mismatches",
            number(mismatches),
            "audit.mismatches",
            "objects that an audit found wrong in the engine",
            tone="bad" if mismatches else "",
            alarm="bad",
        ),
        _reload(status),
        Figure(
            "missing reactions",
            number(len(missing) if missing is not None else None),
            "",
            "pairs of kinds that the reaction map lacks; the output is right nevertheless",
            "/pages/reactions",
            "warn" if missing else "",
        ),
        Figure(
            "drift repairs",
            number(counters.get("drift_repairs")),
            "counters.drift_repairs",
            "objects repaired after another writer changed them",
        ),
        Figure(
            "missed events",
            number(watch.get("missed_events")),
            "watch.missed_events",
            "found only by the background relist",
            tone="warn" if watch.get("missed_events") else "",
            alarm="warn",
        ),
        Figure(
            "loop lag",
            f"{1000 * status['loop_lag_seconds']:.0f} ms" if "loop_lag_seconds" in status else "–",
            "",
            "event-loop lag, decaying maximum",
        ),
    ]


def _audited(status: Mapping[str, Any]) -> Figure:
    audit: Mapping[str, Any] = status.get("audit") or {}
    last = audit.get("last_success") or None
    failed = audit.get("last_error")
    off = not audit or audit.get("period") == 0
    never = "off" if off else "the leader's" if status.get("role") == "standby" else "never"
    text = iso(last) if last else "failed" if failed else never
    hint = f"the last one failed: {failed}" if failed else "a compile from nothing, compared with the objects"
    return Figure("last audit", text, "", hint, tone="bad" if failed else "", since=last)


def _reload(status: Mapping[str, Any]) -> Figure:
    reload: Mapping[str, Any] = status.get("reload") or {}
    rejected = reload.get("last_error")
    loaded = reload.get("loaded_at") if not rejected else None
    text = "rejected" if rejected else iso(loaded) if loaded else "–"
    hint = str(rejected or "when the reaction map and the settings were read")
    return Figure("map loaded", text, "", hint, "/pages/reactions", "bad" if rejected else "", since=loaded)
