"""Finds what of a manifest is not stored, and rejects it or warns a client of it, as ``fieldValidation`` says.

Why it exists: a cluster's resources have many fields that no compiler reads. Of the kinds that accept any field they
are not stored (``model/pruning.py``), so nobody can own them, and who sent them learns it: kubectl prints an answer's
warnings. Of other kinds, and in the metadata of all, an undeclared field is a mistake.

Pure functions of values: nothing that they get is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from intentc.loading import did_you_mean
from intentc.model import Kind
from intentc.model.manifest import flattened, manifest_of, place_in_manifest
from intentc.model.pruning import declared_part, pruned
from intentc.model.types import FieldSpec

from ..admission.fields import METADATA_FIELDS
from ..errors import BadRequest, shortened
from .catalog import Offered
from .failures import Invalid

_MOST = 10
"""Fields that an answer names."""
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


class Validated(NamedTuple):
    """A manifest, and the fields that it had and that are not stored: the client is warned of these."""

    manifest: dict[str, Any]
    unstored: Sequence[str] = ()


def validated(offered: Offered, given: dict[str, Any], validation: str) -> Validated:
    """``given``, a manifest that a client sent or a patch made, without unknown fields that ``validation`` (a request's
    ``fieldValidation``) lets pass. Without it, kinds that declare all their fields keep them: admission rejects them.

    Raises ``Answered`` for those that it does not let pass.
    """
    kind, metadata = offered.kind, given["metadata"]
    unknown = [
        _Unknown(("metadata", name), lambda: METADATA_FIELDS) for name in metadata if name not in METADATA_FIELDS
    ]
    others = list(_undeclared(offered, given))
    if not kind.opaque and validation:
        unknown += others
    if unknown and not validation and not kind.opaque:
        first = unknown[0]
        raise Invalid(f"there is no such field{first.hint}", _written(first.place))
    if unknown and validation == "Strict":
        named = [(one, one.hint) for one in unknown[:_MOST]]
        listed = ", ".join(
            f'unknown field "{shortened(_written(one.place))}"{hint if hint.startswith("; did") else ""}'
            for one, hint in named
        )
        message = f'{offered.name} in version "{offered.version}" cannot be handled: strict decoding error: {listed}'
        raise BadRequest(message)
    given = _without(given, [one.place for one in unknown])
    places = [one.place for one in (unknown if not kind.opaque else [*unknown, *others])]
    return Validated(given, [_written(one) for one in places[: _MOST + 1]] if validation != "Ignore" else ())


class _Unknown(NamedTuple):
    """A field's place. ``known``: finds the names that are known there, for a hint."""

    place: tuple[str | int, ...]
    known: Callable[[], Iterable[str]]

    @property
    def hint(self) -> str:
        return did_you_mean(str(self.place[-1]), self.known())


def _undeclared(offered: Offered, given: dict[str, Any]) -> Iterator[_Unknown]:
    """The outermost fields of a manifest that the schema does not declare, but for those of the metadata. Raises
    ``Invalid`` for a manifest that has no flat form."""
    kind, shape = offered.kind, offered.kind.manifests
    try:
        flat = flattened({**given, "status": None}, shape)
    except msgspec.ValidationError as error:
        raise Invalid(str(error)) from None
    moves = shape.versions.get(offered.api_version, {})
    for steps in _missing(flat, declared_part(kind, flat), ()):
        yield _Unknown(tuple(place_in_manifest(given, moves, steps)), partial(_known, kind, steps[:-1]))


def _known(kind: Kind, steps: Sequence[str | int]) -> Iterable[str]:
    """The declared fields at a place of the flat form."""
    fields: Mapping[str, FieldSpec] = {name: declared.spec for name, declared in kind.properties.items()}
    for step in steps:
        if isinstance(step, str):
            spec = fields[step]
            fields = kind.types.fields(spec.list or spec.type)
    return fields


def _without(given: Any, places: Sequence[Sequence[str | int]]) -> Any:
    """``given`` without the fields at ``places``."""
    below: dict[str | int, list[Sequence[str | int]]] = {}
    for place in places:
        below.setdefault(place[0], []).append(place[1:])
    if isinstance(given, list):
        return [_without(one, below[at]) if at in below else one for at, one in enumerate(given)]
    return {
        name: _without(one, below[name]) if name in below else one
        for name, one in given.items()
        if () not in below.get(name, ())
    }


def warnings(fields: Sequence[str]) -> list[str]:
    """The values of ``Warning`` headers (RFC 7234, 5.5) for fields that are not stored, bounded in number."""
    texts = [f'unknown field "{shortened(field)}": accepted, not stored' for field in fields[:_MOST]]
    if len(fields) > _MOST:
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
