"""The toy compiler of docs/authoring.md: an ``app`` becomes a ConfigMap, a Job, a Deployment and a Service.

They are deleted in the reverse order of their phases. The Job runs once for each version of the app, and the first
Deployment waits until it is done.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from intentc import Claim, Compiler, Context, Fact, Intent, View, finalizer, status

FINALIZER = "example.com/app"
_HERE = Path(__file__).parent


class AppIntent(Intent):
    kind = "app"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        yield finalizer(self, FINALIZER)
        if not self.image:
            message = "an app needs an image; give it in spec.image"
            yield status.condition(self, "Ready", False, "NoImage", message)
            ctx.hold(message)
        namespace, name = self.fq_name
        labels = {"app": name}
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        yield self.manifest(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(self.settings)}, phase=1
        )
        container = {"name": "app", "image": self.image, "envFrom": [{"configMapRef": {"name": name}}]}
        is_prepared = True
        if self.migration:
            pod = {"restartPolicy": "Never", "containers": [{**container, "command": self.migration.split()}]}
            job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": pod}}}
            migration = self.manifest(job, phase=2, immutable=["spec.template"], once=True)
            yield migration
            observed = ctx.observed(migration)
            is_prepared = observed is not None and observed.done
            reason = "Failed" if observed is not None and observed.failed else "Done" if is_prepared else "Running"
            yield status.condition(self, "Migrated", is_prepared, reason)
        spec = {
            "replicas": self.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        }
        deployment = self.manifest(
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec},
            phase=3,
            immutable=["spec.selector"],
        )
        running = ctx.observed(deployment)
        if is_prepared or running is not None:
            # Once it exists, it stays while the Job of a new version runs.
            yield deployment
        yield status.condition(self, "Ready", *_readiness(running))
        spec = {"type": "LoadBalancer", "selector": labels, "ports": [{"port": 80, "targetPort": self.port}]}
        service = self.manifest({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}, phase=4)
        yield service
        published = ctx.observed(service)
        if published is not None and published.addresses:
            yield status.field(self, "address", published.addresses[0])


def _readiness(deployment: View | None) -> tuple[bool | str, str, str]:
    """Status, reason and message of the condition Ready."""
    if deployment is None or deployment.gone:
        return False, "NotDeployed", deployment.rejected if deployment is not None else ""
    if deployment.available is None:
        return "Unknown", "Progressing", "the Deployment has not reported yet"
    return deployment.available, "Available" if deployment.available else "Unavailable", deployment.rejected


compiler = Compiler(
    "app",
    [AppIntent],
    schema_directories=[_HERE / "schemas"],
    reactions=_HERE / "reactions.yml",
    finalizers=[FINALIZER],
    makes=["v1/ConfigMap", "batch/v1/Job", "apps/v1/Deployment", "v1/Service"],
)
