"""Exports the figures of a running compiler to Prometheus, read from its status at each scrape.

Why it exists: metric names are an interface, so they are defined in one place, with the texts that
``docs/operating.md`` repeats; and the engine's own integers cost the hot path nothing. A key that the status lacks has
no metric. Bridges define their own metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from intentc.diagnostics.questions import Process


class Figure(NamedTuple):
    """One metric. ``name``: counters without ``_total``. ``text``: its help. ``place``: the dotted keys of its value in
    the status. ``label``: the value is a mapping, and its keys are the values of this label."""

    name: str
    text: str
    place: str
    label: str = ""


READY = "intentc_ready"
ROLE = "intentc_role"
BUILD = "intentc_build_info"
RELOAD_REJECTED = "intentc_reload_rejected"
ROLES = ("leader", "standby", "alone", "observer")

GAUGES = (
    Figure("intentc_converged", "1 if nothing is left to do for the applied inputs; absent while that is unknown.",
           "converged"),
    Figure("intentc_healthy", "1 if nothing is held, rejected, contended or deferred, no mass deletion waits for "
           "approval, no restored store is being examined, and etcd accepts writes; absent while that is unknown.",
           "healthy"),
    Figure("intentc_unknown_since_timestamp_seconds", "Since when etcd or the API server has not answered, so that "
           "converged and healthy are unknown; absent while both answer.", "unknown_since"),
    Figure("intentc_problems", "Entries in `intentc show problems`.", "counts.problems"),
    Figure("intentc_busy_seconds", "Seconds since it was last converged; 0 if it is converged.", "busy_seconds"),
    Figure("intentc_applied_revision", "The last revision of etcd that was applied.", "applied_revision"),
    Figure("intentc_lag_revisions", "Revisions of etcd that are known and not applied.", "lag_revisions"),
    Figure("intentc_queue_depth", "Pending work: jobs (intents), objects, in_flight (writes).", "queue", "queue"),
    Figure("intentc_oldest_job_seconds", "Age of the oldest waiting job.", "oldest_job_seconds"),
    Figure("intentc_intents", "Intents and objects by their state.", "counts", "state"),
    Figure("intentc_pending_references", "References whose target does not exist yet.", "pending_references"),
    Figure("intentc_loop_lag_seconds", "Event-loop lag, decaying maximum: a stage that holds the loop raises it.",
           "loop_lag_seconds"),
    Figure("intentc_writes_permitted", "1 if writes may begin: the process leads and trusts the store.",
           "writing.permitted"),
    Figure("intentc_leading", "1 if this process leads.", "leading.leads"),
    Figure("intentc_api_server_reachable", "1 if the API server answered the last request.", "api_server.reachable"),
    Figure("intentc_api_server_fences", "1 if the API server rejects writes of former leaders.", "api_server.fences"),
    Figure("intentc_audit_last_success_timestamp_seconds", "When the last judged audit ended; 0: never.",
           "audit.last_success"),
    Figure("intentc_audit_period_seconds", "How often the leader audits; 0: only on demand.", "audit.period"),
    Figure("intentc_reactions_loaded_timestamp_seconds", "When the reaction map was loaded.", "reload.loaded_at"),
    Figure("intentc_certificate_expiry_timestamp_seconds", "When the certificates in a configured file expire.",
           "certificates", "file"),
    Figure("intentc_journal_bytes", "Memory of the journal, approximately.", "journal.bytes"),
)  # fmt: skip

COUNTERS = (
    Figure("intentc_evaluations", "Evaluations of intents.", "counters.evaluations"),
    Figure("intentc_evaluation_seconds", "Time that evaluations took.", "counters.evaluation_seconds"),
    Figure("intentc_slow_evaluations", "Evaluations over 2 ms; their intents have a cooldown.",
           "counters.slow_evaluations"),
    Figure("intentc_idle_walks", "Intents that only the reaction map named, answered from memory.",
           "counters.idle_walks"),
    Figure("intentc_missing_reactions", "Evaluations that a recorded read required and the reaction map did not.",
           "counters.missing_reactions", "pair"),
    Figure("intentc_writes", "Writes that the API server acknowledged.", "counters.writes"),
    Figure("intentc_drift_repairs", "Objects repaired after somebody else changed them.", "counters.drift_repairs"),
    Figure("intentc_contentions", "Objects in contention: another writer reverts them.", "counters.contentions"),
    Figure("intentc_api_server_pauses", "Pauses that the API server asked for.", "counters.pauses"),
    Figure("intentc_lists", "Lists of etcd, by reason: each one after the first means that the watch was in doubt.",
           "watch.lists", "reason"),
    Figure("intentc_watch_disconnects", "Ends of the watch on etcd, by reason.", "watch.disconnects", "reason"),
    Figure("intentc_missed_events", "Events that only the background relist found.", "watch.missed_events"),
    Figure("intentc_store_restored", "How often etcd was found restored to an older state.", "watch.restored"),
    Figure("intentc_takeovers", "How often this process took over.", "leading.takeovers"),
    Figure("intentc_audit_runs", "Audits that completed with a report.", "audit.runs"),
    Figure("intentc_audit_failures", "Audits that failed.", "audit.failures"),
    Figure("intentc_audit_mismatches", "Objects for which an audit found the engine wrong.", "audit.mismatches"),
    Figure("intentc_reloads", "Reloads that took effect.", "reload.reloads"),
    Figure("intentc_reload_failures", "Reloads that were rejected.", "reload.failures"),
    Figure("intentc_journal_lines", "Lines added to the journal.", "journal.last"),
    Figure("intentc_journal_file_failures", "Failed writes to the journal's files.", "journal.files.failures"),
    Figure("intentc_journal_lines_lost", "Lines that could not be kept in files.", "journal.files.lost"),
)  # fmt: skip


def registry_of(measured: Callable[[], Iterable[Metric]]) -> CollectorRegistry:
    """Make a registry of its own, since several engines may run in one process: it has the process's figures, and what
    ``measured`` returns at each scrape."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Measured(measured))
    return registry


class _Measured(Collector):
    def __init__(self, measured: Callable[[], Iterable[Metric]]) -> None:
        self._measured = measured

    def collect(self) -> Iterable[Metric]:
        return self._measured()


def compiler_metrics(process: Process) -> Iterator[Metric]:
    """The metrics of one scrape, from its status."""
    status: Mapping[str, Any] = process.status()
    yield GaugeMetricFamily(
        READY,
        "1 if the first pass is complete, etcd and the API server answer, and no audit or upgrade withholds writes.",
        float(process.ready()[0]),
    )
    for figure in GAUGES:
        yield from _measured(GaugeMetricFamily, figure, status)
    for figure in COUNTERS:
        yield from _measured(CounterMetricFamily, figure, status)
    if role := status.get("role"):
        roles = GaugeMetricFamily(ROLE, "1 for the role that this process has.", labels=["role"])
        for name in ROLES:
            roles.add_metric([name], float(name == role))
        yield roles
    if "reload" in status:
        rejected = status["reload"].get("last_error") is not None
        yield GaugeMetricFamily(RELOAD_REJECTED, "1 if the last reload was rejected.", float(rejected))
    build = GaugeMetricFamily(BUILD, "Always 1; its label is the version of intentc.", labels=["version"])
    build.add_metric([_version()], 1.0)
    yield build


def _measured(
    family: type[GaugeMetricFamily | CounterMetricFamily], figure: Figure, status: Mapping[str, Any]
) -> Iterator[Metric]:
    value = at(status, figure.place)
    if value is None:
        return
    if not figure.label:
        yield family(figure.name, figure.text, value=float(value))
        return
    metric = family(figure.name, figure.text, labels=[figure.label])
    for label, number in sorted(value.items()):
        metric.add_metric([label], float(number))
    yield metric


def at(status: Mapping[str, Any], place: str) -> Any:
    """The value at a path of keys; None if there is none, or anything above it is missing."""
    found: Any = status
    for key in place.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _version() -> str:
    try:
        return version("intentc")
    except PackageNotFoundError:
        return "unknown"
