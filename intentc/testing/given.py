"""Resources as tests give them: from a YAML file, from a text, or as the plain value of one.

Which kinds there are is known only to the service that takes them in; so a resource is read here, and understood there.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from intentc.loading.resources import Loaded, resources_in
from intentc.loading.yaml import Located, load_documents
from intentc.model import Schema


class Given(NamedTuple):
    """The resources of one file or text, in any form that input files may have."""

    documents: tuple[Located, ...]

    def changed(self, **fields: Any) -> Given:
        """The same resources with other values of these top-level fields (of a manifest: of its ``spec``)."""
        return Given(tuple(_changed(document, fields) for document in self.documents))


Resource = Given | Mapping[str, Any]
"""What a service takes: the answer of ``load``, or ``{"kind": …, "data": {…}}``, or a manifest."""


def load(resource: str | Path, folder: Path | None = None) -> Given:
    """The resources of a YAML or JSON file, or of a text (anything of several lines), as they are written.

    ``folder``: what a relative path is relative to (default: the working directory). Raises ``InvalidInput`` with file
    and line for what is no YAML; what the resources are is looked at by the service.

    >>> load("kind: thing\\ndata: {fq_name: [one]}\\n").documents[0].value["kind"]
    'thing'
    """
    if isinstance(resource, str) and "\n" in resource:
        return Given(tuple(load_documents(resource)))
    return Given(tuple(load_documents((folder or Path()) / resource)))


def understood(resources: Iterable[Resource], schema: Schema) -> list[Loaded]:
    """The single resources with their kinds. Raises ``InvalidInput`` for what is no resource, or of an unknown kind."""
    documents: list[Located] = []
    for resource in resources:
        if isinstance(resource, Given):
            documents += resource.documents
        else:
            documents.append(Located(copy.deepcopy(dict(resource)), "<test>"))
    return [loaded._replace(data=copy.deepcopy(loaded.data)) for loaded in resources_in(documents, schema)]


def _changed(document: Located, fields: Mapping[str, Any]) -> Located:
    value = copy.deepcopy(document.value)
    for entry in value.get("resources", [value]):
        entry.setdefault("spec" if "apiVersion" in entry else "data", {}).update(fields)
    return Located(value, document.source, document.first_line)
