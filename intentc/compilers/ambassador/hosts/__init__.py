"""Host names, and what Hosts and Listeners mean, as typed values.

Values, and functions that read through ``ctx``: no state, no I/O.

Touches: nothing outside memory.
"""
