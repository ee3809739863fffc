"""Audits the running service: compares the engine's world with a compile from scratch.

``process`` runs the audit in a process of its own, ``look`` finds the differences that the engine can't explain and
the missing reactions, and ``periodic`` combines them and repairs. ``offline/audit`` compiles from
scratch.

An audit changes nothing. ``periodic`` repairs by the engine's verbs, and asks the watch for a list.
"""

from .look import Mismatch
from .periodic import PeriodicAudit, Spawn, Verdict
from .process import AuditFailed, AuditProcess

__all__ = ["AuditFailed", "AuditProcess", "Mismatch", "PeriodicAudit", "Spawn", "Verdict"]
