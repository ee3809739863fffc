"""intentc: an event-driven intent compiler over etcd.

This module is what the author of a compiler imports (docs/authoring.md)::

    from intentc import Compiler, Intent, refer, shared

Names are looked up when they are first used, so that importing the package costs nothing. The engine's parts are
imported from their own packages; tests of intents use ``intentc.testing``. Compilers that ship with intentc import some
pure modules as well.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from intentc.evaluation import (
        Compiled,
        Compiler,
        Context,
        Intent,
        Naming,
        Overview,
        Row,
        View,
        Waiting,
        assign,
        drop_references,
        finalizer,
        keep_references,
        refer,
        shared,
        status,
    )
    from intentc.model import (
        Claim,
        Fact,
        FinalizerClaim,
        InvalidInput,
        Name,
        PropertyClaim,
        ReferenceClaim,
        ResourceClaim,
        Source,
        StatusClaim,
    )

_HOMES = {
    "Claim": "intentc.model",
    "Compiled": "intentc.evaluation",
    "Compiler": "intentc.evaluation",
    "Context": "intentc.evaluation",
    "Fact": "intentc.model",
    "FinalizerClaim": "intentc.model",
    "Intent": "intentc.evaluation",
    "InvalidInput": "intentc.model",
    "Name": "intentc.model",
    "Naming": "intentc.evaluation",
    "Overview": "intentc.evaluation",
    "PropertyClaim": "intentc.model",
    "ReferenceClaim": "intentc.model",
    "ResourceClaim": "intentc.model",
    "Row": "intentc.evaluation",
    "Source": "intentc.model",
    "StatusClaim": "intentc.model",
    "View": "intentc.evaluation",
    "Waiting": "intentc.evaluation",
    "assign": "intentc.evaluation",
    "drop_references": "intentc.evaluation",
    "finalizer": "intentc.evaluation",
    "keep_references": "intentc.evaluation",
    "refer": "intentc.evaluation",
    "shared": "intentc.evaluation",
    "status": "intentc.evaluation",
}

__all__ = [
    "Claim",
    "Compiled",
    "Compiler",
    "Context",
    "Fact",
    "FinalizerClaim",
    "Intent",
    "InvalidInput",
    "Name",
    "Naming",
    "Overview",
    "PropertyClaim",
    "ReferenceClaim",
    "ResourceClaim",
    "Row",
    "Source",
    "StatusClaim",
    "View",
    "Waiting",
    "assign",
    "drop_references",
    "finalizer",
    "keep_references",
    "refer",
    "shared",
    "status",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'intentc' has no attribute {name!r}; the author's API is {', '.join(__all__)}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return __all__
