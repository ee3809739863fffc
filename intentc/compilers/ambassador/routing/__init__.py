"""What Mappings, TCPMappings and Ingresses match and do: typed values, and the functions that read them.

The intents are in the package above.

They read through ``ctx`` and views, and some report mistakes by a callback; no state, no I/O.

Touches: nothing outside memory.
"""
