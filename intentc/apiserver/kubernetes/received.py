"""Completes and checks manifests that clients send.

Why it exists: labels select, so a label that no selector can name is rejected here as by a kube-apiserver, although the
store could hold it. A cluster's resources have many fields that no compiler reads. Of the kinds that accept any field
they are not stored (``model/structural_schema.py``), so nobody can own them, and who sent them learns it: kubectl
prints an answer's warnings. Of other kinds, and in the metadata of all, an undeclared field is a mistake, as
``fieldValidation`` says. What a kind's own fields must be is checked by admission. Nothing that the functions get is
changed.
"""

from __future__ import annotations

import base64
import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from intentc.loading import did_you_mean
from intentc.model import Kind
from intentc.model.manifest import flattened, manifest_of, place_in_manifest
from intentc.model.structural_schema import declared_part, pruned
from intentc.model.types import FieldSpec

from ..admission.fields import METADATA_FIELDS, is_name, no_name
from ..errors import BadRequest, shortened
from .catalog import Offered
from .shown import Manifest
from .status_errors import Answered, Invalid

_LONGEST_WORD = 63
_WORD = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)")
_STANDARD_FINALIZERS = frozenset({"foregroundDeletion", "kubernetes", "orphan"})
_FORM = "letters, digits, - _ and ., with a letter or digit at both ends"


def completed(given: Any, offered: Offered, namespace: str, name: str = "") -> Manifest:
    """A manifest that a client sent, checked against the URL and with the URL's namespace.

    Raises ``Answered`` and ``Invalid``.
    """
    if not isinstance(given, dict):
        raise Answered(400, "BadRequest", "the body is no object; a manifest is expected")
    result = copy.copy(given)
    for field, wanted in (("apiVersion", offered.api_version), ("kind", offered.name)):
        if result.setdefault(field, wanted) != wanted:
            raise Answered(400, "BadRequest", f"{field} is {result[field]!r}, and the URL is that of {wanted}")
    metadata = result.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise Invalid("an object is expected", "metadata")
    metadata = dict(metadata)
    for field in ("annotations", "labels"):
        if not isinstance(metadata.get(field) or {}, dict):
            raise Invalid("an object of texts is expected", f"metadata.{field}")
    finalizers = metadata.get("finalizers")
    if finalizers and not (isinstance(finalizers, list) and all(isinstance(one, str) for one in finalizers)):
        raise Answered(400, "BadRequest", "metadata.finalizers must be a list of texts")
    if metadata.get("namespace") and metadata["namespace"] != namespace:
        raise Answered(
            400,
            "BadRequest",
            f"metadata.namespace is {metadata['namespace']!r}, and the URL's is {namespace!r}; give the same",
        )
    if namespace:
        metadata["namespace"] = namespace
    if name and metadata.setdefault("name", name) != name:
        raise Answered(400, "BadRequest", f"metadata.name is {metadata['name']!r}, and the URL's is {name!r}")
    result["metadata"] = metadata
    return result


def with_generated_name(given: Manifest, suffix: str) -> Manifest:
    """A new manifest with a name: its own, or ``generateName`` and ``suffix``. Raises ``Invalid``."""
    metadata = given["metadata"]
    if metadata.get("name"):
        return given
    prefix = metadata.get("generateName")
    if not isinstance(prefix, str) or not prefix:
        raise Invalid("name or generateName is required", "metadata.name", "FieldValueRequired")
    return {**given, "metadata": {**metadata, "name": prefix + suffix}}


def applied_configuration(given: Any, offered: Offered, namespace: str, name: str) -> Manifest:
    """A configuration that a client applies: as ``completed``, but it names its type itself, and no owners of fields.
    Raises ``Answered`` and ``Invalid``."""
    result = completed(given, offered, namespace, name)
    for field in ("apiVersion", "kind"):
        if field not in given:
            raise Answered(400, "BadRequest", f"{field} must be set in a configuration to apply")
    if result["metadata"].get("managedFields"):
        raise Answered(400, "BadRequest", "metadata.managedFields must be nil")
    return result


def check_metadata(offered: Offered, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Check what a client changed in the ``metadata`` of a manifest; ``before``: empty for a new one. Raises
    ``Invalid``."""
    if not before and not is_name(str(after["name"])):
        raise Invalid(no_name(str(after["name"])), "metadata.name")
    for key, value in _new_items("labels", before, after):
        if not _is_qualified(key):
            raise Invalid(_no_key(key), "metadata.labels")
        if isinstance(value, str) and value and not _is_word(value):
            raise Invalid(
                f"{shortened(value)!r} is no value of a label; give at most {_LONGEST_WORD} {_FORM}", "metadata.labels"
            )
    for key, _ in _new_items("annotations", before, after):
        if not _is_qualified(key.lower()):
            raise Invalid(_no_key(key), "metadata.annotations")
    former = {name for name in before.get("finalizers") or () if isinstance(name, str)}
    given = enumerate(after.get("finalizers") or ())
    added = [(place, name) for place, name in given if name not in former]
    for place, name in added:
        if before.get("deletionTimestamp"):
            raise Invalid(
                f"the resource is being deleted: no finalizer can be added ({shortened(name)})",
                "metadata.finalizers",
                "FieldValueForbidden",
            )
        if not _is_qualified(name):
            raise Invalid(_no_key(name), "metadata.finalizers")
        if offered.is_built_in and "/" not in name and name not in _STANDARD_FINALIZERS:
            raise Invalid(f"{name!r} has no prefix; write example.com/{name}", f"metadata.finalizers[{place}]")


def with_encoded_data(offered: Offered, given: Manifest) -> Manifest:
    """A Secret's manifest with its ``stringData`` moved into ``data``, in base64; other manifests as they are. Raises
    ``Invalid``."""
    texts, data = given.get("stringData"), given.get("data") or {}
    if offered.qualified != "secrets" or not isinstance(texts, dict) or not isinstance(data, dict):
        return given
    moved = {}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise Invalid("a text is expected", f"stringData.{key}")
        moved[key] = base64.b64encode(text.encode()).decode()
    return {**{field: one for field, one in given.items() if field != "stringData"}, "data": {**data, **moved}}


def _new_items(field: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    former = before.get(field) or {}
    return ((key, one) for key, one in (after.get(field) or {}).items() if former.get(key) != one)


def _no_key(text: str) -> str:
    return (
        f"{shortened(text)!r} is no qualified name; give at most {_LONGEST_WORD} {_FORM}, "
        "and before it a DNS name and / if you like: example.com/name"
    )


def _is_qualified(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    return _is_word(name) and (is_name(prefix) if slash else not prefix)


def _is_word(text: str) -> bool:
    return len(text) <= _LONGEST_WORD and _WORD.fullmatch(text) is not None


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
    """The outermost fields of a manifest that the schema does not declare, except those of the metadata. Raises
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
