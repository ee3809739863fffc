"""Frozen values that all stages share: names, resources, kinds, events, claims, operations, problems.

The bottom layer: it imports nothing of intentc, and knows no kind by name. Most values are never changed; tables belong
to whoever makes them, and kinds keep what they computed once. ``files.py`` alone reads files: what several packages
must do alike with those that are replaced.
"""

from intentc.model.claims import (
    Claim,
    Fact,
    FinalizerClaim,
    HeldFacts,
    Parent,
    PropertyClaim,
    Reason,
    ReferenceClaim,
    RelationClaim,
    ResourceClaim,
    Source,
    StatusClaim,
    claimed,
    claimed_parts,
)
from intentc.model.events import Batch, Change, Correction, Snapshot
from intentc.model.kind import Kind, Writer
from intentc.model.names import Key, Name, escaped_segment, is_escaped, is_uuid, kebab, snake, stored_segment
from intentc.model.operations import (
    AddReference,
    Create,
    Delete,
    Operation,
    ReferenceValue,
    RemoveReference,
    Update,
    UpdateStatus,
    verb,
    written_fields,
)
from intentc.model.ownership import MARK_KEY, RELEASED_KEY, SHARED, Mark, object_uuid
from intentc.model.problem import InvalidInput, Problem, SeveralInvalid, all_invalid, described
from intentc.model.reads import Read
from intentc.model.resource import Link, Reference, Resource
from intentc.model.schema import Schema
from intentc.model.world import HeldInput, Target, World

__all__ = [
    "MARK_KEY",
    "RELEASED_KEY",
    "SHARED",
    "AddReference",
    "Batch",
    "Change",
    "Claim",
    "Correction",
    "Create",
    "Delete",
    "Fact",
    "FinalizerClaim",
    "HeldFacts",
    "HeldInput",
    "InvalidInput",
    "Key",
    "Kind",
    "Link",
    "Mark",
    "Name",
    "Operation",
    "Parent",
    "Problem",
    "PropertyClaim",
    "Read",
    "Reason",
    "Reference",
    "ReferenceClaim",
    "ReferenceValue",
    "RelationClaim",
    "RemoveReference",
    "Resource",
    "ResourceClaim",
    "Schema",
    "SeveralInvalid",
    "Snapshot",
    "Source",
    "StatusClaim",
    "Target",
    "Update",
    "UpdateStatus",
    "World",
    "Writer",
    "all_invalid",
    "claimed",
    "claimed_parts",
    "described",
    "escaped_segment",
    "is_escaped",
    "is_uuid",
    "kebab",
    "object_uuid",
    "snake",
    "stored_segment",
    "verb",
    "written_fields",
]
