"""Runs the engine over memory: ``intentc compile``, audits against a compile from scratch, and plans.

It owns the engines and stores in memory that it makes, and writes to no live system.
"""
