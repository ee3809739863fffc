"""Describes the state of a bridge as JSON, for ``/status`` of its diagnostics and for its metrics.

Why apart: what people see is an interface of its own; ``docs/operating.md`` describes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from .kind_watcher import KindTask
from .manifest_reconciler import ManifestReconciler

if TYPE_CHECKING:
    from .serving import Bridge

_SHOWN = 100


def status_of(bridge: Bridge) -> dict[str, Any]:
    """The status of ``bridge``."""
    reconciler = bridge.reconciler
    kinds = {name: _kind_status(bridge, name, task) for name, task in bridge.tasks.items()}
    listed = all(task.mark and task.is_listed for task in bridge.tasks.values())
    converged = bool(kinds) and bridge.is_idle and listed
    return {
        # While etcd or the cluster is away, nobody knows whether it still is.
        "converged": (True if bridge.ready()[0] else None) if converged else False,
        "leading": bridge.election.fence() is not None,
        "leader": bridge.election.leader() or "",
        "cluster": bridge.cluster.server,
        "cluster_id": bridge.identity.present or "",
        "applied_revision": bridge.revision,
        "pending_writes": bridge.copy_writer.pending,
        "last_error": bridge.copy_writer.last_error
        or (reconciler.last_error or reconciler.answers.last_error if reconciler else ""),
        "counters": dict(sum((part.counters for part in (*bridge.parts, bridge.events)), Counter[str]())),
        "kinds": kinds,
        "manifests": _manifests(reconciler) if reconciler is not None else {},
        "problems": {
            "watch": bridge.compiled_problems.source.state.phase.value,
            "error": bridge.compiled_problems.failure,
            "present": bridge.problem_events.present,
            "reported": bridge.problem_events.reported,
        },
        "withheld_deletes": [
            f"{kind} {key.uuid}" for kind, held in bridge.mirror.withheld.items() for key in sorted(held.keys)[:_SHOWN]
        ],
        "attention": list(_attention(bridge)),
    }


def _kind_status(bridge: Bridge, name: str, task: KindTask) -> dict[str, Any]:
    objects, copies = bridge.mirror.counts(name)
    watcher = task.watcher
    held = bridge.mirror.withheld.get(name)
    return {
        "phase": watcher.state.phase.value,
        "error": watcher.state.error,
        "served": watcher.served.path if watcher.served is not None else "",
        "version": watcher.informer.version,
        "objects": objects,
        "copies": copies,
        "synced": task.mark is not None,
        "rejected": sum(key.kind == name for key in (*bridge.mirror.unusable, *bridge.copy_writer.rejected)),
        "withheld_deletes": len(held.keys) if held is not None else 0,
        "counters": dict(watcher.counters),
    }


def _manifests(reconciler: ManifestReconciler) -> dict[str, Any]:
    return {
        "stored": len(reconciler.stored.manifests),
        "rejected": len(reconciler.rejected),
        "kinds": {str(sort): reconciler.kinds.readiness(sort).value for sort in reconciler.kinds.watchers},
    }


def _attention(bridge: Bridge) -> Iterator[str]:
    mirror = bridge.mirror
    if doubt := bridge.identity.doubt:
        kind = next(iter(bridge.tasks), "KIND")
        yield f"nothing is written: {doubt}" + (
            f"; or `intentc allow-deletes --mirrored {kind}` has it mirrored"
            if bridge.identity.is_unreadable
            else "; see withheld_deletes"
        )
    for kind, held in mirror.withheld.items():
        yield (
            f"{len(held.keys)} copies of {kind} are not deleted: {held.reason}; if that is intended, "
            f"`intentc allow-deletes --mirrored {kind}`"
        )
    if failure := bridge.compiled_problems.failure:
        yield f"what compilers report gets no new Events, since it is not watched in etcd: {failure}"
    for key, (who, reason) in list(mirror.unusable.items())[:_SHOWN]:
        yield f"{key.kind} {who} is not mirrored: {reason}"
    for key, reason in list(bridge.copy_writer.rejected.items())[:_SHOWN]:
        yield f"{key.kind} {mirror.name_of(key) or key.uuid} is not mirrored: {reason}"
    for key, reason in list(bridge.reporter.rejected.items())[:_SHOWN]:
        yield f"the status of {key.kind} {mirror.name_of(key) or key.uuid} is not written to the cluster: {reason}"
    for key, reason in list(bridge.finalizers.rejected.items())[:_SHOWN]:
        yield f"the finalizers of {key.kind} {mirror.name_of(key) or key.uuid} can't be changed: {reason}"
    if bridge.reconciler is not None:
        for fq_name, reason in list(bridge.reconciler.rejected.items())[:_SHOWN]:
            manifest = bridge.reconciler.stored.manifests.get(fq_name)
            yield f"{manifest.target if manifest else '/'.join(fq_name)} is not carried out: {reason}"
    for name in bridge.tasks:
        for who, uuid in list(mirror.taken_names(name))[:_SHOWN]:
            yield f"{name} {who} is not mirrored: {uuid} in etcd has its name, and no bridge wrote that"


LEADING = "intentc_kubernetes_leading"
OBJECTS = "intentc_kubernetes_objects"
COPIES = "intentc_kubernetes_copies"
WATCHING = "intentc_kubernetes_watching"
SYNCED = "intentc_kubernetes_synced"
WITHHELD = "intentc_kubernetes_withheld_deletes"
REJECTED = "intentc_kubernetes_rejected"
REQUESTS = "intentc_kubernetes_watch"
PROBLEMS = "intentc_kubernetes_problems"
REPORTED = "intentc_kubernetes_problems_reported"
PROBLEMS_WATCHING = "intentc_kubernetes_problems_watching"
WRITES = "intentc_kubernetes_writes"


def metrics(status: Mapping[str, Any]) -> Iterator[Metric]:
    """The metrics of one scrape, from ``Bridge.status``."""
    yield GaugeMetricFamily(LEADING, "1 if this process mirrors.", value=int(status["leading"]))
    kinds = status["kinds"]
    for name, about, field in (
        (OBJECTS, "Objects in the cluster, by kind.", "objects"),
        (COPIES, "Copies in etcd, by kind.", "copies"),
        (WITHHELD, "Copies whose deletion waits for approval.", "withheld_deletes"),
        (REJECTED, "Objects that can't be copied.", "rejected"),
    ):
        family = GaugeMetricFamily(name, about, labels=["kind"])
        for kind, found in kinds.items():
            family.add_metric([kind], found[field])
        yield family
    watching = GaugeMetricFamily(WATCHING, "1 if a watch of the kind is open.", labels=["kind"])
    synced = GaugeMetricFamily(SYNCED, "1 if etcd has held the whole kind.", labels=["kind"])
    counted = CounterMetricFamily(REQUESTS, "Events, lists, cuts … of the watch, by kind.", labels=["kind", "what"])
    for kind, found in kinds.items():
        watching.add_metric([kind], int(found["phase"] == "watching"))
        synced.add_metric([kind], int(found["synced"]))
        for what, number in sorted(found["counters"].items()):
            counted.add_metric([kind, what], number)
    yield from (watching, synced, counted)
    problems = status["problems"]
    for name, about, value in (
        (PROBLEMS, "Problems of objects, each of which gets an Event.", problems["present"]),
        (REPORTED, "Those that have had an Event.", problems["reported"]),
        (PROBLEMS_WATCHING, "1 if a watch of what compilers report is open.", int(problems["watch"] == "watching")),
    ):
        yield GaugeMetricFamily(name, about, value=value)
    writes = CounterMetricFamily(WRITES, "Writes to the API server, by outcome.", labels=["outcome"])
    for outcome, number in sorted(status["counters"].items()):
        writes.add_metric([outcome], number)
    yield writes
