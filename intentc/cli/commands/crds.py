"""``intentc crds``: prints CustomResourceDefinitions, made from the schema files of the configured compilers.

Why it exists: a cluster lacks the kinds of a product that is not installed there; with these it checks, explains and
lists their resources as our API server does. ``model/structural_schema`` makes the schemas in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click
import msgspec

from intentc.loading.configuration import Loaded
from intentc.model import Kind
from intentc.model.structural_schema import group_and_version, printer_columns, structural_schema

from ..command_error import CommandError, Exit
from ..command_options import configured


@click.command(name="crds")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@configured(compilers=True)
def command(output: str, loaded: Loaded) -> int:
    """Print a CustomResourceDefinition for each kind that the compilers read as manifests.

    \b
    intentc crds --compiler ambassador | kubectl apply -f -

    For a cluster in which the peer is not installed. Kinds that every cluster has (Service, Ingress …) need none. A
    cluster checks types, bounds and enums as `intentc apiserver` does. Exit code 3 if the compilers read no manifests.
    """

    from intentc.plugins import declared

    configuration = loaded.configuration
    found = definitions(declared(configuration).schema)
    if not found:
        raise CommandError(
            f"no kind of {', '.join(configuration.intentc.compilers)} needs a CustomResourceDefinition",
            next_step="name a compiler that reads manifests: --compiler ambassador",
        )
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": found})))
    else:
        click.echo("---\n".join(msgspec.yaml.encode(one).decode() for one in found), nl=False)
    return Exit.DONE


BUILT_IN_GROUPS = frozenset(
    {
        "core",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
    }
)
"""Groups that every cluster has: their kinds need no definition."""

_PROTECTED = (".k8s.io", ".kubernetes.io")


def definitions(kinds: Iterable[Kind]) -> list[dict[str, Any]]:
    """A CustomResourceDefinition for each kind that people write as manifests of a group that clusters don't have. What
    compilers make of a cluster, and what a bridge answers, stands in etcd only."""
    return [
        _definition(kind)
        for kind in kinds
        if kind.stored
        and kind.written_as_manifests
        and not (kind.system or kind.answers)
        and kind.group not in BUILT_IN_GROUPS
    ]


def _definition(kind: Kind) -> dict[str, Any]:
    shape, plural, name = kind.manifests, kind.manifests.plural, kind.manifests.kind
    metadata: dict[str, Any] = {"name": f"{plural}.{kind.group}"}
    if kind.group.endswith(_PROTECTED):
        # A cluster asks for this of every group below k8s.io.
        metadata["annotations"] = {"api-approved.kubernetes.io": "unapproved, made from a schema file of intentc"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": kind.group,
            "names": {
                "kind": name,
                "listKind": f"{name}List",
                "plural": plural,
                "singular": name.lower(),
                **({"shortNames": list(kind.short_names)} if kind.short_names else {}),
            },
            "scope": "Cluster" if shape.cluster_scoped else "Namespaced",
            "versions": [
                _version(kind, version, is_stored=not position)
                for position, version in enumerate(shape.versions or [shape.preferred])
            ],
        },
    }


def _version(kind: Kind, version: str, *, is_stored: bool) -> dict[str, Any]:
    subresources: dict[str, Any] = {"subresources": {"status": {}}} if kind.status is not None else {}
    return {
        **subresources,
        "name": group_and_version(version)[1],
        "served": True,
        "storage": is_stored,
        "schema": {"openAPIV3Schema": structural_schema(kind, version)},
        "additionalPrinterColumns": [
            {"name": column.name, "type": column.type, "jsonPath": column.json_path}
            for column in printer_columns(kind, version)
        ],
    }
