"""Runs the engine over memory: ``intentc compile``, audits against a compile from scratch, and plans.

It writes to no live system; ``audit`` and ``preview`` read one, and ``preview`` saves plans in files.
"""


class AllocationsUnreadable(Exception):
    """The API server does not list the allocations; the cause is the ``Failure``."""
