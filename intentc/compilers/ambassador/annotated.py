"""Creates the resources in the annotation ``getambassador.io/config`` of a Service or an Ingress.

Most of Emissary's users have some (docs/ambassador.md §6.9). The carrier claims each of them as an object of its own:
they are created, changed and deleted with the carrier, ``why`` leads from them to it, and all intents read them like
resources that users apply. If several carriers hold the same resource, the first by name claims it, in whatever order
they appear (fact ``annotated_resource``). A mistake in one document is a problem on the carrier; the other documents
take effect. The intent of Services is here, and also yields the gateway's addresses (``publishing.py``); that of
Ingresses is in ``ingress.py``.

It reads and reports problems through ``ctx``, and yields claims and facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from intentc import Claim, Context, Fact, Intent, InvalidInput, ResourceClaim

from .publishing import addresses_of

ANNOTATION = "getambassador.io/config"
SETTING = "ambassador.annotations"
"""The setting that disables annotations with ``false``."""
_FACT = "annotated_resource"
_GROUP = "getambassador.io/"
_OLDER_GROUP = "ambassador/"
_NO_FIELDS = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_IN_METADATA = {"name": "name", "namespace": "namespace", "metadata_labels": "labels"}
"""Fields at the top of a document that belong to its metadata → their names there."""
_IGNORED = frozenset({"generation"})


class ServiceIntent(Intent):
    kind = "service"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        yield from annotated(self, ctx)
        yield from addresses_of(self, ctx)


def annotated(carrier: Intent, ctx: Context) -> Iterator[ResourceClaim | Fact]:
    """Yields the resources in the annotation of ``carrier``."""
    text = carrier.metadata.annotations.get(ANNOTATION, "")
    if not text:
        return
    if not _switched_on(ctx):
        ctx.problem(
            "AnnotationIgnored",
            f"the annotation {ANNOTATION} has no effect, since the setting {SETTING} is false; apply the resources in "
            "it as manifests, or set it to true",
        )
        return
    try:
        documents = ctx.documents(text)
    except InvalidInput as error:
        ctx.problem("InvalidAnnotation", f"the annotation {ANNOTATION} is not YAML: {error}; nothing in it has effect")
        return
    seen: set[Any] = set()
    own = f"{carrier.kind} {':'.join(carrier.fq_name)}"
    for position, document in enumerate(documents, 1):
        try:
            claim = ctx.described(_unfolded(document, carrier))
            if claim.name in seen:
                raise InvalidInput(f"{claim.name} is in it twice; the first one takes effect")
        except InvalidInput as error:
            ctx.problem(
                "InvalidAnnotation", f"document {position} of {ANNOTATION}: {error}; until then it has no effect"
            )
            continue
        seen.add(claim.name)
        yield Fact(_FACT, str(claim.name), own)
        first = min(own, *(name for _, name in ctx.contributions(_FACT, str(claim.name))))
        if first == own:
            yield claim
        else:
            ctx.problem(
                "SecondCarrier",
                f"document {position} of {ANNOTATION}: {claim.name} is also in the annotation of {first}, which "
                "takes effect as the first by name; remove it from one of them",
            )


def _switched_on(ctx: Context) -> bool:
    try:
        return ctx.setting(SETTING) is not False
    except KeyError:
        return True


def _unfolded(document: Any, carrier: Intent) -> dict[str, Any]:
    """Converts a document to a manifest; without labels of its own it gets those of the carrier.

    Fields may be at the top of the document instead of in ``metadata`` and ``spec``. Raises ``InvalidInput``.
    """
    if not isinstance(document, dict):
        raise InvalidInput("a resource is expected, with apiVersion, kind and name")
    version = document.get("apiVersion")
    if not isinstance(version, str) or not version.startswith((_GROUP, _OLDER_GROUP)):
        raise InvalidInput(f"apiVersion {version!r} is not of the group {_GROUP}; write {_GROUP}v3alpha1")
    metadata, spec = (_object(document, field) for field in ("metadata", "spec"))
    for field, value in document.items():
        if field in _IN_METADATA:
            metadata[_IN_METADATA[field]] = value
        elif field not in _NO_FIELDS and field not in _IGNORED:
            spec[field] = value
    namespace = carrier.fq_name[0]
    if metadata.setdefault("namespace", namespace) != namespace:
        raise InvalidInput(f"its namespace is that of its carrier, {namespace}; remove `namespace`")
    if not metadata.get("labels"):
        metadata["labels"] = dict(carrier.metadata.labels)
    return {
        "apiVersion": _GROUP + version.partition("/")[2],
        "kind": document.get("kind"),
        "metadata": metadata,
        "spec": spec,
    }


def _object(document: dict[str, Any], field: str) -> dict[str, Any]:
    value = document.get(field) or {}
    if not isinstance(value, dict):
        raise InvalidInput(f"{field}: an object is expected")
    return dict(value)
