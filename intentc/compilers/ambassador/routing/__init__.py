"""What Mappings, TCPMappings and Ingresses match and do: typed values, and the functions that read them.

So are the rules for members of a group, and patterns of host names. The intents are in the package above.

They read through ``ctx`` and views, and some report mistakes by a callback.

Touches: nothing outside memory.
"""
