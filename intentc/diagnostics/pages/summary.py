"""Shapes the overview (verdicts, pending work, and figures that show whether to act), and the top of every page.

Why it exists: ``/status`` has too many keys for a person. This module gives those that an operator needs a place, a
label, a tone, a hint and a link. A figure whose key is missing is a dash, unless its absence has a meaning (no audit:
off; nobody else leads: alone; no count of what is quarantined: as many as are listed; at the top, no count of problems:
0).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from intentc.diagnostics.metrics import at
from intentc.diagnostics.pages.rendering import iso, link, number, utc

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


def _figure(
    status: Mapping[str, Any],
    label: str,
    place: str,
    hint: str = "",
    href: str = "",
    *,
    alarm: str = "",
    unless: str = "",
) -> Figure:
    """Return the figure at ``place``, which is kept up to date. ``alarm``, ``unless``: as in ``Figure``; no value
    is no reason for an alarm."""
    value = at(status, place)
    text = number(value)
    alarming = value not in (None, "") and (text != unless if unless else bool(value))
    return Figure(label, text, place, hint, href, alarm if alarming else "", alarm, unless)


def _process(status: Mapping[str, Any]) -> list[Figure]:
    leading = status.get("leading") or {}
    leads = f"the process that may write now; its diagnostics: {leading.get('leader_address') or 'not known'}"
    roles = "leader and alone write; a standby takes over; an observer never writes"
    watched = at(status, "watch.last_error") or "the phase of the watch on etcd"
    answers = "whether it answered the last request; an idle process asks every 10 s"
    fences = "whether the API server rejects writes of former leaders"
    return [
        Figure("role", role(status), "role", roles),
        Figure("leader", str(leading.get("leader") or "–"), "leading.leader", leads),
        _figure(status, "may write", "writing.permitted", "whether it may write now", alarm="warn", unless="yes"),
        _figure(status, "etcd", "watch.phase", watched, alarm="warn", unless="watching"),
        _figure(status, "applied revision", "applied_revision", "of etcd"),
        _figure(status, "lag", "lag_revisions", "revisions seen and not yet applied"),
        _figure(status, "API server answers", "api_server.reachable", answers, alarm="warn", unless="yes"),
        _figure(status, "API server fences", "api_server.fences", fences)._replace(live=""),
    ]


def _work(status: Mapping[str, Any]) -> list[Figure]:
    return [
        _figure(status, "intents queued", "queue.jobs", "to be evaluated"),
        _figure(status, "objects queued", "queue.objects", "to be compared"),
        _figure(status, "writes in flight", "queue.in_flight"),
        _figure(status, "evaluations", "counters.evaluations", "since the start"),
        _figure(status, "evaluations / s", "rates.evaluations"),
        _figure(status, "writes", "counters.writes", "since the start"),
        _figure(status, "writes / s", "rates.writes"),
        _figure(status, "intents as desired", "counts.evaluated", "whose evaluation is complete"),
    ]


_PEOPLE = (
    ("quarantined", "bad", "what needs operator action, each with its reason", "/pages/quarantine"),
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
    counts = {"quarantined": len(status.get("quarantine", ())), **status.get("counts", {})}
    figures = [
        _figure({"counts": counts}, name.replace("_", " "), f"counts.{name}", hint, href, alarm=alarm)
        for name, alarm, hint, href in _PEOPLE
    ]
    hint = "references whose target does not exist"
    return [*figures, _figure(status, "pending references", "pending_references", hint, "/pending?pretty")]


def _checks(status: Mapping[str, Any]) -> list[Figure]:
    missing = at(status, "counters.missing_reactions")
    lacking = "pairs of kinds that the reaction map lacks; the output is right nevertheless"
    shown = number(len(missing) if missing is not None else None)
    lag = f"{1000 * status['loop_lag_seconds']:.0f} ms" if "loop_lag_seconds" in status else "–"
    mismatched = "objects that an audit found wrong in the engine"
    drift = "objects repaired after another writer changed them"
    return [
        _audited(status),
        _figure(status, "audit mismatches", "audit.mismatches", mismatched, alarm="bad"),
        _reload(status),
        Figure("missing reactions", shown, "", lacking, "/pages/reactions", "warn" if missing else ""),
        _figure(status, "drift repairs", "counters.drift_repairs", drift),
        _figure(status, "missed events", "watch.missed_events", "found only by the background relist", alarm="warn"),
        Figure("loop lag", lag, "", "event-loop lag, decaying maximum"),
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
