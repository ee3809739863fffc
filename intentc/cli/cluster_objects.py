"""Prints the objects that a compiler makes in a Kubernetes cluster, as `kubectl apply` takes them.

Why it exists: ``compile -o kubernetes`` shows a cluster's objects without a cluster and without a bridge. They have the
bridge's label, so that a bridge that comes later takes them for its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click
import msgspec

from intentc.model import Schema
from intentc.outgoing import MANIFEST, wanted_of

from .errors import CommandError, Exit


def print_objects(
    outputs: Iterable[Mapping[str, Any]], schema: Schema, installation: str, *, with_secrets: bool
) -> None:
    """Print the objects as YAML documents, in the order of their phases; stderr says if secrets are left out. Raises
    ``CommandError`` if the compilers make no such objects."""
    if MANIFEST not in schema:
        raise CommandError(
            "these compilers make nothing in a Kubernetes cluster",
            next_step="name one that does: --compiler",
            code=Exit.USAGE,
        )
    manifests = [output for output in outputs if output["kind"] == MANIFEST]
    manifests.sort(key=lambda one: (one.get("phase") or 0, one["fq_name"]))
    left_out = 0
    for manifest in manifests:
        if manifest.get("secret") and not with_secrets:
            left_out += 1
            continue
        click.echo("---")
        click.echo(msgspec.yaml.encode(wanted_of(manifest, installation).body), nl=False)
    if left_out:
        click.echo(f"secrets left out: {left_out} (--with-secrets prints them)", err=True)
