"""How long a test waits for a condition before it fails: one end for all of them.

A wait ends as soon as its condition holds, so a generous end costs nothing, and a slow machine fails no test. How a
long time is meant by the code itself, tests set the clock; ``unit/test_no_test_depends_on_speed.py`` refuses short
ends and comparisons of elapsed time.
"""

from __future__ import annotations

PATIENCE = 120.0
"""Seconds."""
