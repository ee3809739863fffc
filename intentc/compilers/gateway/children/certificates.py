"""The Job that makes the certificates with which Contour and Envoy talk to each other, and its Secrets.

The Job runs once for each image of Contour: what it makes lasts, and a Job that ran at each start would replace
certificates that are in use. It runs again when a Secret is missing (docs/gateway.md §8).

Pure functions of an ``Instance``, and of what was observed of its objects: no state, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..instance import Instance
from .child import Child, Observed, Phase, metadata
from .labels import owner_labels, workload_labels
from .names import names_of, suffix_of
from .pods import UNPRIVILEGED, container, namespace_variable, pod

MADE_BY_CERTGEN: Mapping[str, str] = {"app": "contour"}
"""The labels that ``contour certgen`` puts on its Secrets."""


def certificates(instance: Instance, observed: Observed) -> Iterator[Child]:
    """The Job and its Secrets, as far as they are to be claimed now.

    The Secrets are claimed once the Job has made them, so that they are deleted with the instance, and stay claimed
    while the Job of a new image runs. A Job that is done although a Secret is gone is not claimed: so it is deleted,
    what was observed of it is forgotten, and it is claimed, and runs, again."""
    job = certgen(instance)
    ran = observed(job)
    is_done = ran is not None and ran.done
    seen = [(secret, observed(secret)) for secret in certificate_secrets(instance)]
    missing = [one is not None and one.gone and not one.taken for _, one in seen]
    for (secret, one), is_missing in zip(seen, missing, strict=True):
        if is_done if one is None else not is_missing:
            yield secret
    if not (is_done and any(missing)):
        yield job


def certificate_secrets(instance: Instance) -> tuple[Child, Child]:
    """The Secrets that the Job makes: Contour's and Envoy's. Of their content nothing is ours."""
    names = names_of(instance)
    return _secret(instance, names.contour_certificate), _secret(instance, names.envoy_certificate)


def _secret(instance: Instance, name: str) -> Child:
    own = metadata(instance, name, owner_labels(instance), instance.namespace)
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": own}
    return Child(manifest, Phase.CONFIGURATION, adopts=MADE_BY_CERTGEN, adopted_only=True)


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
