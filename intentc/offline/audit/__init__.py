"""Audits: compiles everything from scratch at one revision and compares the result with the objects of that revision.

An audit writes and allocates nothing. State: the engine that compiles, until the report is done. ``service/audits``
decides what a difference means for a running compiler.
"""

from .report import Change, Difference, Report
from .scratch import apply_directives, audit
from .upstream import upstream

__all__ = ["Change", "Difference", "Report", "apply_directives", "audit", "upstream"]
