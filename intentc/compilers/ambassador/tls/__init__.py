"""TLS settings towards clients, and checks of certificates and keys.

Pure functions of values: no state, no I/O.
"""
