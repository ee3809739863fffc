"""The Job that makes the certificates with which Contour and Envoy talk to each other (docs/gateway.md §8).

The Job runs once for each image of Contour: what it makes lasts, and a Job that ran at each start would replace
certificates that are in use.

Pure functions of an ``Instance``: no state, no I/O.
"""

from __future__ import annotations

from ..instance import Instance
from .child import Child, Phase, metadata
from .labels import owner_labels, workload_labels
from .names import names_of, suffix_of
from .pods import UNPRIVILEGED, container, namespace_variable, pod


def certgen(instance: Instance) -> Child:
    """The Job."""
    names = names_of(instance)
    command = ["contour", "certgen", "--kube", "--incluster", "--overwrite", "--secrets-format=compact"]
    command.append("--namespace=$(CONTOUR_NAMESPACE)")
    if instance.layout == "provisioner":
        command.append(f"--secrets-name-suffix=-{suffix_of(instance)}")
    labels = {**workload_labels(instance, "contour-certgen"), "app.kubernetes.io/part-of": "project-contour"}
    program = container("contour", instance.images.contour, "Always", command=command, env=[namespace_variable()])
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(instance, names.job, labels, instance.namespace),
        "spec": {
            "backoffLimit": 1,
            "completions": 1,
            "parallelism": 1,
            "template": {
                "metadata": {"labels": owner_labels(instance)},
                "spec": pod(names.certgen, 30, UNPRIVILEGED, containers=[program], restartPolicy="Never"),
            },
        },
    }
    return Child(manifest, Phase.CERTIFICATES, immutable=("spec.template",), once=True)
