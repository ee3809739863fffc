"""Converts typed values to Envoy's JSON (v3, Envoy 1.40): pure functions, one module per kind of element.

Touches: nothing outside memory.
"""
