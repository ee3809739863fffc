"""Audits the running service: compares the engine's world with a compile from scratch.

``audit_process`` runs the audit in a process of its own, ``look`` finds the differences that the engine can't explain
and the missing reactions, and ``periodic`` combines them and repairs. ``offline/audit`` compiles from scratch.

An audit changes nothing. ``periodic`` repairs by the engine's verbs, and asks the watch for a list.
"""

from .audit_process import AuditFailed, AuditProcess
from .look import Mismatch
from .periodic import PeriodicAudit, Spawn, Verdict

__all__ = ["AuditFailed", "AuditProcess", "Mismatch", "PeriodicAudit", "Spawn", "Verdict"]
