"""The compilers that ship with intentc: one package per domain, each with one file per intent, named after its kind.

A compiler imports the author's API (``intentc``) and its own package, nothing else of intentc. Intents compute their
outputs from what they read through ``ctx``; caches of pure functions are all that lasts.

Touches: nothing outside memory.
"""
