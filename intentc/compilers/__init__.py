"""The compilers that ship with intentc: one package per domain, each with one file per intent, named after its kind.

A compiler imports the author's API (``intentc``) and its own package, nothing else of intentc. It does no I/O and
keeps no state but caches of pure functions: intents compute their outputs from what they read through ``ctx``.

Touches: nothing outside memory.
"""
