"""``intentc compile``: offline, resources in, lower-level resources out; no server needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click
import msgspec

from .errors import Exit
from .options import configured, output_option

if TYPE_CHECKING:
    from intentc.configuration import Loaded
    from intentc.loading.resources import Loaded as Input
    from intentc.model import Problem
    from intentc.offline import GivenNumbers


@click.command(name="compile")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@output_option
@click.option(
    "--allocations",
    type=click.Path(dir_okay=False, exists=True),
    help="Numbers already given, YAML: {pool: {fq_name of the owner, joined by ':': number}}.",
)
@configured()
def command(files: tuple[str, ...], output: str, allocations: str | None, loaded: Loaded) -> int:
    """Compile the resources in FILE... (YAML or JSON; a folder; - for stdin), and print what follows from them.

    The same input gives the same bytes, whatever its order. What an API server would fill in is filled in by the same
    rules; numbers that nobody was given yet are the lowest free ones, in the order of their owners' names. Exit code 5
    if some intents are held.
    """
    return anyio.run(_compile, files, output, allocations, loaded)


async def _compile(files: tuple[str, ...], output: str, allocations: str | None, loaded: Loaded) -> int:
    from intentc.offline import Offline
    from intentc.plugins import installed

    from .places import located
    from .transfer import read_input

    configuration = loaded.configuration
    inputs, _ = read_input(files, configuration)
    settings = configuration.intentc
    offline = Offline(
        installed(configuration),
        installation=settings.installation,
        settings=settings.settings,
        given=_given(allocations),
    )
    await offline.seed()
    await _apply(offline, inputs)
    _print(output, offline.outputs(), [located(problem, inputs) for problem in offline.problems()])
    return Exit.HELD if offline.engine.parts.standing.held else Exit.DONE


async def _apply(offline: Any, inputs: Sequence[Input]) -> None:
    from intentc.apiserver.errors import ApiError
    from intentc.model import InvalidInput

    from .places import place_of, told_of

    try:
        await offline.apply({"kind": i.kind, "operation": "CREATE", "data": i.data} for i in inputs)
    except ApiError as error:
        if error.item is None:
            raise InvalidInput(error.message) from None
        resource = inputs[error.item]
        raise InvalidInput(told_of(resource, error.detail), source=place_of(resource, error.detail)) from None


def _given(path: str | None) -> GivenNumbers:
    if path is None:
        return {}
    from intentc.loading import convert, load_yaml

    given: Mapping[str, Mapping[str, int]] = convert(load_yaml(Path(path)), dict[str, dict[str, int]])
    return given


def _print(output: str, resources: list[dict[str, Any]], problems: list[Problem]) -> None:
    from .output import print_document
    from .places import line_of

    rows = [(r["kind"], ":".join(r["fq_name"]), summary(r)) for r in resources]
    content = {"resources": resources, "problems": [msgspec.structs.asdict(problem) for problem in problems]}
    print_document(output, content, ("kind", "name", "contents"), rows)
    if output == "table":
        for problem in problems:
            click.echo(line_of(problem), err=True)


def summary(resource: Mapping[str, Any]) -> str:
    """What stands in a resource, in a few words: its references by name, and how long its lists are."""
    parts = []
    for field, value in resource.items():
        if field.endswith("_refs"):
            names = (_entry(entry) for entry in value)
            parts.append(f"{field.removesuffix('_refs')}: {', '.join(names)}")
        elif isinstance(value, dict):
            parts += [f"{len(items)} {name}" for name, items in value.items() if isinstance(items, list)]
    return "; ".join(parts)


def _entry(entry: Mapping[str, Any]) -> str:
    attribute = ", ".join(str(value) for value in (entry.get("attr") or {}).values() if isinstance(value, str | int))
    return f"{entry['to'][-1]} ({attribute})" if attribute else str(entry["to"][-1])
