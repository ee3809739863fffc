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
        namespace, name = self.fq_name
        labels = {"app": name}
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        yield finalizer(self, FINALIZER)
        if not self.image:
            ctx.hold("an app needs an image; give it in spec.image")
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(self.settings)}
        yield self.manifest(settings, phase=1)
        container = {"name": "app", "image": self.image}
        if self.migration:
            job = self.manifest(
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "metadata": metadata,
                    "spec": {
                        "template": {
                            "spec": {
                                "restartPolicy": "Never",
                                "containers": [{**container, "command": self.migration.split()}],
                            }
                        }
                    },
                },
                phase=2,
                immutable=["spec.template"],
                once=True,
            )
            yield job
        deployment = self.manifest(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": metadata,
                "spec": {
                    "replicas": self.replicas,
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {"containers": [{**container, "envFrom": [{"configMapRef": {"name": name}}]}]},
                    },
                },
            },
            phase=3,
            immutable=["spec.selector"],
        )
        prepared = not self.migration or _is_done(ctx.observed(job))
        if prepared or ctx.observed(deployment) is not None:
            # Once it exists, it stays while the Job of a new version runs.
            yield deployment
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"type": "LoadBalancer", "selector": labels, "ports": [{"port": 80, "targetPort": self.port}]},
        }
        yield self.manifest(service, phase=4)


def _is_done(observed: object) -> bool:
    return observed is not None and observed.done  # type: ignore[attr-defined]


compiler = Compiler(
    "app",
    [AppIntent],
    schema_directories=[_HERE / "schemas"],
    reactions=_HERE / "reactions.yml",
    finalizers=[FINALIZER],
)
