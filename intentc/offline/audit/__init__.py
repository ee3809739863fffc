"""The audit: everything compiled from scratch at one revision, beside what is there at that revision.

``scratch`` compiles, ``report`` is what it says, ``upstream`` follows facts to those who contribute them. It writes and
allocates nothing. What a difference means for a running compiler is ``auditing``'s business.
"""

from .report import Change, Difference, Report
from .scratch import audit, obey
from .upstream import upstream

__all__ = ["Change", "Difference", "Report", "audit", "obey", "upstream"]
