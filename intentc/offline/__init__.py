"""Runs the engine over memory: ``intentc compile``, audits against a compile from scratch, and plans."""
