"""Completes and checks manifests that clients send: against the URL, and what Kubernetes demands of all metadata.

Why it exists: labels select, so a label that no selector can name is rejected here as by a kube-apiserver, although the
store could hold it. A Secret's ``stringData`` is moved into ``data`` here. What a kind's own fields must be is checked
by the API server's admission; ``unstored`` finds unknown fields.

Pure functions of values: nothing that they get is changed.
"""

from __future__ import annotations

import base64
import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..admission.fields import is_name, no_name
from ..errors import shortened
from .catalog import Offered
from .failures import Answered, Invalid
from .shown import Manifest

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
