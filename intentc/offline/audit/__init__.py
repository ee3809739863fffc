"""Audits: compiles everything from scratch at one revision and compares the result with the objects of that revision.

``scratch`` compiles, ``report`` holds the result, ``upstream`` follows facts back to their contributors. An audit
writes and allocates nothing. ``service/audits`` decides what a difference means for a running compiler.
"""

from .report import Change, Difference, Report
from .scratch import apply_directives, audit
from .upstream import upstream

__all__ = ["Change", "Difference", "Report", "apply_directives", "audit", "upstream"]
