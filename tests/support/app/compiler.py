"""The toy compiler of docs/authoring.md: an ``app`` becomes a ConfigMap, a Job, a Deployment and a Service.

They are deleted in the reverse order of their phases. The Job runs once for each version of the app, and the first
Deployment waits until it is done.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from intentc import Claim, Compiler, Context, Fact, Intent, finalizer

FINALIZER = "example.com/app"
_HERE = Path(__file__).parent


class AppIntent(Intent):
    kind = "app"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        yield finalizer(self, FINALIZER)
        if not self.image:
            ctx.hold("an app needs an image; give it in spec.image")
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
        if is_prepared or ctx.observed(deployment) is not None:
            # Once it exists, it stays while the Job of a new version runs.
            yield deployment
        spec = {"type": "LoadBalancer", "selector": labels, "ports": [{"port": 80, "targetPort": self.port}]}
        yield self.manifest({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}, phase=4)


compiler = Compiler(
    "app",
    [AppIntent],
    schema_directories=[_HERE / "schemas"],
    reactions=_HERE / "reactions.yml",
    finalizers=[FINALIZER],
)
