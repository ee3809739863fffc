"""Converts typed values to Envoy's JSON (v3, Envoy 1.40): pure functions, one module per kind of element.

No state, no I/O.

Touches: nothing outside memory.
"""
