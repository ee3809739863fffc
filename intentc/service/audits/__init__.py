"""The service's own audits: does what the running engine believes equal a compile from scratch?

``process`` has the audit made beside the service, ``look`` tells which of its differences the engine has no excuse
for, ``causes`` names the reactions that were missing, and ``periodic`` puts it together and repairs. Compiling from
scratch is ``audit``'s business.
"""

from .look import Mismatch
from .periodic import PeriodicAudit, Spawn, Verdict
from .process import AuditFailed, AuditProcess

__all__ = ["AuditFailed", "AuditProcess", "Mismatch", "PeriodicAudit", "Spawn", "Verdict"]
