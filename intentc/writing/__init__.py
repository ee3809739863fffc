"""Carries out writes: the two services and their implementations (docs/engine.md §6).

``http`` (the API server) is imported where it is used, since the HTTP client is slow to load.
All requests to the API server, and those for the tokens that they carry, are here. What to write is decided elsewhere.
"""

from .interfaces import Allocation, DryRun, ReadBack, ReadService, WriteService, Written

__all__ = [
    "Allocation",
    "DryRun",
    "ReadBack",
    "ReadService",
    "WriteService",
    "Written",
]
