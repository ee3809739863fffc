"""Extracts Envoy elements from compiled resources, and prints them as a configuration file of Envoy.

Why it exists: ``compile`` and ``dev`` have the compiler's outputs in memory and need no store in between.
``bridges.xds`` decodes elements, makes the configuration, and serves elements from etcd.

It prints the configuration on stdout, and what is left out on stderr; it changes nothing that it gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click
import msgspec

from intentc.bridges.xds.elements import SECRET, TYPE_OF, Element, calls_for_envoy, decode_element
from intentc.model import Schema
from intentc.model.events import Change
from intentc.model.sensitive import concealed

from .command_error import CommandError, Exit, needing_protobuf


def elements_of(outputs: Iterable[Mapping[str, Any]]) -> list[Element]:
    """The Envoy elements in ``outputs`` (``inspection.documents.shown``); other kinds are skipped."""
    return [
        decode_element(Change(output["kind"], output["uuid"], msgspec.json.encode(output), 0, 0))
        for output in outputs
        if output["kind"] in TYPE_OF
    ]


def print_bootstrap(outputs: Iterable[Mapping[str, Any]], schema: Schema, *, with_secrets: bool) -> None:
    """Print a complete static configuration of Envoy as JSON; stderr says if secrets are left out. Raises
    ``CommandError`` if the compilers make no Envoy elements, and, after printing all others, if some elements are
    not valid Envoy messages."""
    if not calls_for_envoy(schema):
        raise CommandError(
            "these compilers make nothing for Envoy", next_step="name one that does: --compiler", code=Exit.USAGE
        )
    outputs = list(outputs)
    without = outputs if with_secrets else [_concealed(output, schema) for output in outputs]
    elements = elements_of(without)
    shown = [element for element in elements if with_secrets or element.kind != SECRET]
    configuration, wrong = _bootstrap(shown)
    click.echo(msgspec.json.format(msgspec.json.encode(configuration), indent=2))
    left_out = len(elements) - len(shown)
    if left_out:
        click.echo(f"secrets left out: {left_out}; Envoy asks for them (--with-secrets puts them in)", err=True)
    hidden = sum(one != other for one, other in zip(outputs, without, strict=True))
    if hidden:
        click.echo(f"elements with <secret> in place of a value: {hidden} (--with-secrets shows it)", err=True)
    if wrong:
        raise CommandError(
            "\n".join(wrong), next_step="fix the resources that they come from; all other elements are printed"
        )


def _concealed(output: Mapping[str, Any], schema: Schema) -> Mapping[str, Any]:
    """``output`` without the fields that its schema declares sensitive; secrets are left out later, as a whole."""
    if output["kind"] == SECRET or not schema.kind(output["kind"]).sensitive:
        return output
    return concealed(schema.kind(output["kind"]), msgspec.json.decode(msgspec.json.encode(output)))


def _bootstrap(elements: list[Element]) -> tuple[dict[str, Any], list[str]]:
    """The configuration, and an error for each element that is left out of it."""
    with needing_protobuf():
        from intentc.bridges.xds.bootstrap import static_bootstrap

    wrong: list[str] = []

    def left_out(element: Element, error: Exception) -> None:
        origins = ", ".join(f"{origin.kind} {origin.name}" for origin in element.origins) or "nobody"
        wrong.append(f"left out: {element.kind} {element.name} of {origins} is not a valid Envoy message: {error}")

    return static_bootstrap(elements, left_out=left_out), wrong
