"""Directives: what operators told the compiler, kept in etcd, so that it outlives processes and every standby knows it.

``directive`` says what a directive is, ``book`` puts and withdraws them, ``watching`` brings them to the engine's
``operator_actions``. Why etcd and not a call to the compiler: the diagnostics are read-only, and etcd's own roles
protect who may write.
"""

from .actions import OperatorActions
from .book import Book, Kept
from .directive import AllowDeletes, Directive, Drop, Pause, Retry, Suspect, directives_prefix
from .suspects import hold_suspects
from .watching import DirectiveWatch

__all__ = [
    "AllowDeletes",
    "Book",
    "Directive",
    "DirectiveWatch",
    "Drop",
    "Kept",
    "OperatorActions",
    "Pause",
    "Retry",
    "Suspect",
    "directives_prefix",
    "hold_suspects",
]
