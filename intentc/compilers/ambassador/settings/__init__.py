"""The settings that users write for the gateway and its traffic: typed values, and the rules for them.

``module_settings`` reads facts through ``ctx``, the others are functions of values.
"""
