"""Host names, and what Hosts and Listeners mean, as typed values.

Values, and functions that read through ``ctx``.

Touches: nothing outside memory.
"""
