"""``intentc compile``: compiles the resources in files to their outputs, offline and without a server.

``offline`` compiles; ``envoy_output`` and ``azure_output`` print the forms for these programs, ``show`` prints views.
Objects of a cluster have the bridge's label, so that a bridge that comes later takes them for its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from intentc.loading import convert, load_yaml
from intentc.loading.configuration import Loaded
from intentc.model import InvalidInput, Problem, Schema
from intentc.outgoing import MANIFEST, wanted_of

from ..command_error import CommandError, Exit
from ..command_options import complete_files, configured, output_option_with
from ..input_files import apply_inputs, apply_what_can_be, line_of, located, read_input, read_what_can_be
from ..output import print_document

if TYPE_CHECKING:
    from intentc.offline.offline import GivenAllocations

_WITH_SECRETS = ("envoy", "kubernetes")
_FOR_OTHERS = (*_WITH_SECRETS, "appgw")
"""Forms of the output that other programs read."""


@click.command(name="compile")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_files)
@output_option_with("envoy", "kubernetes", "appgw")
@click.option(
    "--allocations",
    type=click.Path(dir_okay=False, exists=True),
    help="Allocations, YAML: {pool: {fq_name of the owner, joined by ':': value}}.",
)
@click.option("--view", help="Print this view in place of the resources, such as `routes` (`intentc show`).")
@click.option("--keep-going", is_flag=True, help="Leave out invalid resources, and compile the others; exit code 5.")
@click.option("--with-secrets", is_flag=True, help="With -o envoy or kubernetes: include secrets in clear text.")
@click.option(
    "--gateway",
    type=click.Path(dir_okay=False, exists=True),
    help="With -o appgw: the Application Gateway as Azure Resource Manager gives it, JSON.",
)
@click.option("--difference", is_flag=True, help="With --gateway: print what would change of it.")
@configured(compiles=True, compilers=True)
async def command(
    files: tuple[str, ...],
    output: str,
    allocations: str | None,
    view: str | None,
    keep_going: bool,
    with_secrets: bool,
    gateway: str | None,
    difference: bool,
    loaded: Loaded,
) -> int:
    """Compile the resources in FILE... (YAML or JSON; a folder; - for stdin), and print what follows from them.

    The same input gives the same bytes, in any order. Fields that an API server would fill in are filled in by the same
    rules; new allocations take the lowest free values, in the order of their intents' names. Exit code 5 if an output
    could not be made (its intent is held or waits, or the server's rules reject it: the problems say why), or with
    --keep-going some resources are left out.

    `-o envoy` prints a configuration file of Envoy, `-o kubernetes` the objects of a cluster for `kubectl apply`, both
    complete except for secrets. `-o appgw` prints the document of an Application Gateway that would be put; without
    --gateway for one that has a public address and nothing else; with --difference only which parts of that gateway it
    adds (+), removes (-) or changes (~).
    """
    if with_secrets and output not in _WITH_SECRETS:
        raise click.UsageError("--with-secrets needs -o envoy or -o kubernetes", click.get_current_context())
    if view and output in _FOR_OTHERS:
        raise click.UsageError(f"--view and -o {output} exclude each other", click.get_current_context())
    if gateway and output != "appgw":
        raise click.UsageError("--gateway needs -o appgw", click.get_current_context())
    if difference and not gateway:
        raise click.UsageError("--difference needs --gateway", click.get_current_context())
    configuration = loaded.configuration
    from intentc.inspection.awaited import unmade, waits
    from intentc.inspection.read_secrets import concealed_outputs
    from intentc.offline.offline import Offline
    from intentc.plugins import installed

    left_out: list[InvalidInput] = []
    if keep_going:
        inputs, _, left_out = read_what_can_be(files, configuration)
    else:
        inputs, _ = read_input(files, configuration)
    settings = configuration.intentc
    used = installed(configuration)
    offline = Offline(
        used,
        installation=settings.installation,
        settings=settings.settings,
        given=_given(allocations),
    )
    await offline.seed()
    document = None
    if output == "appgw":
        from ..azure_output import AzureDocument

        document = AzureDocument(gateway, settings.settings, used.schema)
        inputs = document.with_record(inputs)
    if keep_going:
        left_out += await apply_what_can_be(offline, inputs, mirrored=document is not None)
    else:
        await apply_inputs(offline, inputs, mirrored=document is not None)
    for error in left_out:
        click.echo(f"left out: {error}", err=True)
    engine = offline.engine
    problems = [located(problem, inputs) for problem in (*offline.problems(), *waits(engine))]
    if view:
        from intentc.inspection import Reader

        from .show import print_view

        await print_view(output, view, Reader(engine, used.views))
    elif document is not None:
        problems += (document.print_difference if difference else document.print)(offline.outputs())
    elif output == "envoy":
        from ..envoy_output import print_bootstrap

        print_bootstrap(offline.outputs(), used.schema, with_secrets=with_secrets)
    elif output == "kubernetes":
        print_objects(offline.outputs(), used.schema, settings.installation, with_secrets=with_secrets)
    else:
        outputs = concealed_outputs(engine.world, engine.planner, offline.outputs())
        _print(output, outputs, offline.statuses(), problems)
    _print_problems(output, problems)
    return Exit.HELD if unmade(engine) or left_out else Exit.DONE


def _given(path: str | None) -> GivenAllocations:
    if path is None:
        return {}

    given: Mapping[str, Mapping[str, int]] = convert(load_yaml(Path(path)), dict[str, dict[str, int]])
    return given


def _print(
    output: str, resources: list[dict[str, Any]], statuses: list[dict[str, Any]], problems: list[Problem]
) -> None:
    contents: dict[tuple[str, str], list[str]] = {}
    for one in resources:
        contents.setdefault((one["kind"], ":".join(one["fq_name"])), []).append(summary(one))
    for one in statuses:
        contents.setdefault((one["kind"], ":".join(one["fq_name"])), []).append(status_in_short(one["status"]))
    rows = [(kind, name, "; ".join(filter(None, parts))) for (kind, name), parts in contents.items()]
    content = {
        "resources": resources,
        **({"statuses": statuses} if statuses else {}),
        "problems": [msgspec.structs.asdict(problem) for problem in problems],
    }
    print_document(output, content, ("kind", "name", "contents"), rows)


def _print_problems(output: str, problems: list[Problem]) -> None:
    """Print problems on stderr, unless the document has them."""
    if output == "table" or output in _FOR_OTHERS:
        for problem in problems:
            click.echo(line_of(problem), err=True)


def status_in_short(status: Mapping[str, Any]) -> str:
    """A short form of a status: its texts and numbers, and its conditions as ``Ready=False (reason)``, by type.

    >>> conditions = [{"type": "Sown", "status": "False", "reason": "NoCrops"}]
    >>> status_in_short({"state": "idle", "fields": 2, "conditions": conditions})
    'idle, fields=2, Sown=False (NoCrops)'
    """
    named = sorted(status.items(), key=lambda item: item[0] != "state")
    texts = [
        value if isinstance(value, str) else f"{name}={value}" for name, value in named if isinstance(value, str | int)
    ]
    conditions = status.get("conditions")
    for one in sorted(conditions, key=lambda one: str(one.get("type"))) if isinstance(conditions, list) else ():
        texts.append(f"{one.get('type')}={one.get('status')} ({one.get('reason')})")
    return ", ".join(texts)


def summary(resource: Mapping[str, Any]) -> str:
    """A short summary of a resource: its references by name, and the lengths of its lists."""
    parts = []
    for field, value in resource.items():
        if field.endswith("_refs"):
            names = (_entry(entry) for entry in value)
            parts.append(f"{field.removesuffix('_refs')}: {', '.join(names)}")
        elif field == "origins":
            parts.append(f"from {', '.join(_origin(origin) for origin in value)}")
        elif isinstance(value, dict):
            parts += [f"{len(items)} {name}" for name, items in value.items() if isinstance(items, list)]
    return "; ".join(parts)


def _origin(origin: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (origin.get("kind"), origin.get("name"), origin.get("field"))))


def _entry(entry: Mapping[str, Any]) -> str:
    attribute = ", ".join(str(value) for value in (entry.get("attr") or {}).values() if isinstance(value, str | int))
    return f"{entry['to'][-1]} ({attribute})" if attribute else str(entry["to"][-1])


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
