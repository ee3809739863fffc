"""Reads the resources that tests give: from a YAML or JSON file, from a text, or as plain values.

Only the service that receives them knows the kinds: ``load`` reads files before, and the service calls ``understood``
with its schema. ``loading`` does the reading. What it gets stays as it is.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from intentc.loading.resource_files import Loaded, resources_in
from intentc.loading.yaml import Located, load_documents
from intentc.model import Schema


class Given(NamedTuple):
    """The resources of one file or text, in any form that input files may have."""

    documents: tuple[Located, ...]

    def changed(self, **fields: Any) -> Given:
        """The same resources with other values of these top-level fields (of a manifest: of its ``spec``)."""
        return Given(tuple(_changed(document, fields) for document in self.documents))


Resource = Given | Mapping[str, Any]
"""A resource for a service: the result of ``load``, or ``{"kind": …, "data": {…}}``, or a manifest."""


def load(resource: str | Path, folder: Path | None = None) -> Given:
    """Load the resources of a YAML or JSON file, or of a text (anything of several lines).

    ``folder``: the base of a relative path (default: the working directory). Raises ``InvalidInput`` with file and line
    for invalid YAML; the service checks the resources.

    >>> load("kind: thing\\ndata: {fq_name: [one]}\\n").documents[0].value["kind"]
    'thing'
    """
    if isinstance(resource, str) and "\n" in resource:
        return Given(tuple(load_documents(resource)))
    return Given(tuple(load_documents((folder or Path()) / resource)))


def understood(resources: Iterable[Resource], schema: Schema) -> list[Loaded]:
    """The single resources with their kinds. Raises ``InvalidInput`` for invalid resources and unknown kinds."""
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
