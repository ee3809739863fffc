"""TLS settings towards clients, and checks of certificates and keys.

``tls_settings`` reads through ``ctx``, the others are functions of values.

Touches: nothing outside memory.
"""
