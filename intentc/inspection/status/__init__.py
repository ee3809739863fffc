"""What ``/status`` reports beyond the engine's own counters: pending work and rates.

It reads the engine and changes nothing there. State: the last samples and counts.

Touches: clock.
"""
