"""TLS settings towards clients, and checks of certificates and keys.

No state, no I/O: ``tls_settings`` reads through ``ctx``, the others are functions of values.

Touches: nothing outside memory.
"""
