"""Directives: operator actions stored in etcd, so that they outlive processes and reach every standby.

``directive`` defines, puts and lists them, ``watching`` reads them, ``obeying`` has the engine carry them out. Why etcd
and not a call to the running compiler: the diagnostics are read-only, and etcd's own roles restrict who may write.
"""

from .directive import (
    AllowDeletes,
    Book,
    Directive,
    Drop,
    Kept,
    Pause,
    Retry,
    Suspect,
    directives_prefix,
    hold_suspects,
)
from .watching import DirectiveWatch

__all__ = [
    "AllowDeletes",
    "Book",
    "Directive",
    "DirectiveWatch",
    "Drop",
    "Kept",
    "Pause",
    "Retry",
    "Suspect",
    "directives_prefix",
    "hold_suspects",
]
