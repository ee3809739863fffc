"""Creates the resources in the annotation ``getambassador.io/config`` of a Service or an Ingress.

Most of Emissary's users have some (docs/ambassador.md §6.9). The carrier claims each of them as an object of its own:
they are created, changed and deleted with the carrier, ``why`` leads from them to it, and all intents read them like
resources that users apply. If several carriers hold the same resource, the first by name claims it, in whatever order
they appear (fact ``annotated_resource``). A mistake in one document is a problem on the carrier; the other documents
take effect.

A setting names the Service by which the gateway is reached. The intent of Services yields the addresses that the
cluster gives it as a fact, and Ingresses have them as status (docs/ambassador.md §6.10).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from intentc import Claim, Context, Fact, Intent, InvalidInput, ResourceClaim, View, status

STATUS_SERVICE = "ambassador.ingress_status_service"
"""The setting with the Service, as namespace:name. Without it, the addresses in Ingresses are others' affair."""
_PUBLISHED = "published_addresses"
_ALL = "all"


def published(ingress: View, ctx: Context) -> Iterator[Claim]:
    """The status of an Ingress of ours."""
    service = _status_service(ctx)
    if not service:
        return
    found = ctx.fact(_PUBLISHED, _ALL) or ()
    if found:
        addresses = [{"ip": ip, "hostname": hostname} for ip, hostname in found]
        yield status.field(ingress, "loadBalancer.ingress", addresses)


def _status_service(ctx: Context) -> str:
    return str(ctx.setting(STATUS_SERVICE, ""))


ANNOTATION = "getambassador.io/config"
ANNOTATIONS = "ambassador.annotations"
"""The setting that disables annotations with ``false``."""
_FACT = "annotated_resource"
_GROUP = "getambassador.io/"
_OLDER_GROUP = "ambassador/"
_NO_FIELDS = frozenset({"apiVersion", "kind", "metadata", "spec", "status", "generation"})
_IN_METADATA = {"name": "name", "namespace": "namespace", "metadata_labels": "labels"}
"""Fields at the top of a document that belong to its metadata → their names there."""


class ServiceIntent(Intent):
    kind = "service"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        yield from annotated(self, ctx)
        if _status_service(ctx) == ":".join(self.fq_name):
            found = tuple((one.ip, one.hostname) for one in self.status.loadBalancer.ingress)
            if found:
                yield Fact(_PUBLISHED, _ALL, found)


def annotated(carrier: Intent, ctx: Context) -> Iterator[ResourceClaim | Fact]:
    """Yields the resources in the annotation of ``carrier``."""
    text = carrier.metadata.annotations.get(ANNOTATION, "")
    if not text:
        return
    if ctx.setting(ANNOTATIONS, True) is False:
        ctx.problem(
            "AnnotationIgnored",
            f"the annotation {ANNOTATION} has no effect, since the setting {ANNOTATIONS} is false; apply the resources "
            "in it as manifests, or set it to true",
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
        elif field not in _NO_FIELDS:
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
