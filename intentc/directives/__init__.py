"""Directives: operator actions stored in etcd, so that they outlive processes and reach every standby.

``directive`` defines a directive, ``book`` puts, withdraws and lists directives, ``suspects`` records the intents under
which processes died. ``watching`` reads directives, ``obeying`` has the engine carry them out by the verbs of
``actions``. Why etcd and not a call to the running compiler: the diagnostics are read-only, and etcd's own roles
restrict who may write.

The directives' keys in etcd are this package's own. State: the directives in force. It changes the engine by its verbs
alone.
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
