"""Kubernetes objects that compilers make in a cluster: their names, fields, comparison and order (docs/engine.md §13).

A compiler claims a ``manifest`` (``Intent.manifest``, ``targets.py``); a bridge carries it out and answers with an
``observed``. What the bridge must do with one object, and what it reports, are pure functions here (``carrying.py``,
``owned_fields.py``), so that the bridge and the fake cluster of ``intentc.testing`` decide alike. Who talks to a
cluster is in ``intentc.bridges``; ``model/manifest.py`` converts manifests that people write.

Pure functions of values.
"""

from intentc.outgoing.carrying import (
    FINALIZER,
    INSTALLATION_LABEL,
    Restored,
    Step,
    Wanted,
    mark_of,
    next_step,
    observed_fields,
    restored,
    wanted_of,
)
from intentc.outgoing.owned_fields import differences, with_list_keys
from intentc.outgoing.targets import MANIFEST, OBSERVED, Target, body_of, claimed_fields, digest_of, name_of, target_of

__all__ = [
    "FINALIZER",
    "INSTALLATION_LABEL",
    "MANIFEST",
    "OBSERVED",
    "Restored",
    "Step",
    "Target",
    "Wanted",
    "body_of",
    "claimed_fields",
    "differences",
    "digest_of",
    "mark_of",
    "name_of",
    "next_step",
    "observed_fields",
    "restored",
    "target_of",
    "wanted_of",
    "with_list_keys",
]
