"""The settings that users write for the gateway and its traffic: typed values, and the rules for them.

Pure functions of values: no state, no I/O.
"""
