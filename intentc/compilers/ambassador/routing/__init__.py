"""What Mappings, TCPMappings and Ingresses match and do: typed values, and the functions that read them.

The rules for members of a group, and patterns of host names, are here, too; the intents are in the package above. These
functions read through ``ctx`` and views, and some report mistakes by a callback.
"""
