"""``intentc crds``: prints CustomResourceDefinitions, made from the schema files of the configured compilers.

``custom_resources`` makes them. It reads the compilers' files, and prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..errors import CommandError, Exit
from ..options import compilers_option, configured, with_compilers

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded


@click.command(name="crds")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@compilers_option
@configured()
def command(output: str, compilers: tuple[str, ...], loaded: Loaded) -> int:
    """Print a CustomResourceDefinition for each kind that the compilers read as manifests.

    \b
    intentc crds --compiler ambassador | kubectl apply -f -

    For a cluster in which the peer is not installed. Kinds that every cluster has (Service, Ingress …) need none. A
    cluster checks types, bounds and enums as `intentc apiserver` does. Exit code 3 if the compilers read no manifests.
    """
    import msgspec

    from intentc.plugins import declared

    from ..custom_resources import definitions

    configuration = with_compilers(loaded.configuration, compilers)
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
