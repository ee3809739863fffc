"""The compilers that ship with intentc, one package per domain: its intents, and the functions that they share.

A compiler imports the author's API (``intentc``) and its own package, nothing else of intentc. Intents compute their
outputs from what they read through ``ctx``; caches of pure functions are all that lasts. ``intentc/plugins.py`` finds
the compilers by their entry points.
"""
