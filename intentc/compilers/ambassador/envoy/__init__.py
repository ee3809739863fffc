"""Converts typed values to Envoy's JSON (v3, Envoy 1.40): pure functions, one module per element or part of one.

The intents above make claims of what these return, by ``ambassador/elements.py``.
"""
