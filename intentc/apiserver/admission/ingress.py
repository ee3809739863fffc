"""Ingresses: what older manifests say in annotations is written into the fields that took their place.

Annotations are no input of a compile, and to which gateway an Ingress belongs must be: one that is another
controller's must not be served.
"""

from __future__ import annotations

from typing import ClassVar

from .rules import Change, Found, Rules, Uuids

_FIELDS = {"kubernetes.io/ingress.class": "ingressClassName", "getambassador.io/ambassador-id": "ambassador_id"}
"""Annotation → the field that it stands for; the field counts if both are there."""


class IngressRules(Rules):
    kind: ClassVar[str] = "ingress"

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        assert change.after is not None
        pairs = (change.after.get("annotations") or {}).get("key_value_pair") or ()
        for pair in pairs:
            field = _FIELDS.get(pair["key"])
            if field is not None and pair["value"] and not change.after.get(field):
                change.after[field] = pair["value"]
