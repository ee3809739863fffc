"""What Mappings, TCPMappings and Ingresses match and do: typed values and pure functions of them.

The intents are in the package above.

No state, no I/O.
"""
