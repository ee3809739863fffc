"""Minutes of the whole service in milliseconds: ``python -m tests.simulation`` (`make simulate`).

The real engine, source, heartbeat and audit over the memory store and the real API server, in simulated time, with
faults between them. What a history must end in is said in ``tests/property/demands.py``, for these histories as for
those that are taken step by step.
"""
