"""Finds what of a manifest is stored, of the kinds that accept any field, and warns a client of the rest.

Why it exists: a cluster's resources have many fields that no compiler reads. They are accepted and not stored
(``model/pruning.py``), so nobody can own them, and who sent them learns it: kubectl prints an answer's warnings.

Pure functions of values: nothing that they get is changed.

Touches: nothing outside memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from intentc.model.manifest import flattened, manifest_of, place_in_manifest
from intentc.model.pruning import pruned

from ..errors import shortened
from .catalog import Offered
from .failures import Invalid

_MOST_WARNINGS = 10
_OUTSIDE = ("apiVersion", "kind", "metadata")


def stored_part(offered: Offered, given: dict[str, Any]) -> dict[str, Any]:
    """``given``, a manifest of ``offered``, without its status, which only ``/status`` writes, and without what the
    schema does not declare. Raises ``Invalid`` for a manifest of an older version that has no flat form."""
    given = {name: value for name, value in given.items() if name != "status"}
    kind = offered.kind
    if not kind.opaque:
        return given
    shape = kind.manifests
    if offered.api_version in shape.conversions or shape.versions.get(offered.api_version):
        # Fields that stand elsewhere in this version are known by their places in the stored one.
        try:
            shown = manifest_of(pruned(kind, flattened(given, shape)), shape, offered.api_version)
        except msgspec.ValidationError as error:
            raise Invalid(str(error)) from None
        return {**shown, "metadata": given["metadata"]}
    top = pruned(kind, {name: value for name, value in given.items() if name not in (*_OUTSIDE, "spec")})
    kept = {name: given[name] for name in _OUTSIDE if name in given} | top
    if "spec" in given:
        kept["spec"] = pruned(kind, given["spec"]) if isinstance(given["spec"], dict) else given["spec"]
    return kept


def unstored_fields(offered: Offered, given: dict[str, Any]) -> list[str]:
    """The outermost fields of ``given``, a manifest that was accepted, that are not stored: ``spec.ports[0].x``; at
    most one more than ``warnings`` names."""
    kind, shape = offered.kind, offered.kind.manifests
    if not kind.opaque:
        return []
    flat = flattened(given, shape)
    moves = shape.versions.get(offered.api_version, {})
    found = islice(_missing(flat, pruned(kind, flat), ()), _MOST_WARNINGS + 1)
    return [_written(place_in_manifest(given, moves, steps)) for steps in found]


def warnings(fields: Sequence[str]) -> list[str]:
    """The values of ``Warning`` headers (RFC 7234, 5.5) for fields that are not stored, bounded in number."""
    texts = [f'unknown field "{shortened(field)}": accepted, not stored' for field in fields[:_MOST_WARNINGS]]
    if len(fields) > _MOST_WARNINGS:
        texts.append("there are more unknown fields: accepted, not stored")
    return [f"299 - {_quoted(text)}" for text in texts]


def _missing(given: Any, kept: Any, steps: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if isinstance(given, dict) and isinstance(kept, dict):
        for name, value in given.items():
            if name not in kept:
                yield (*steps, name)
            else:
                yield from _missing(value, kept[name], (*steps, name))
    elif isinstance(given, list) and isinstance(kept, list):
        for at, (value, inner) in enumerate(zip(given, kept, strict=True)):
            yield from _missing(value, inner, (*steps, at))


def _written(steps: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def _quoted(text: str) -> str:
    """``text`` as a quoted string of a header: printable ASCII."""
    plain = "".join(one if " " <= one <= "~" else one.encode("unicode_escape").decode() for one in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
