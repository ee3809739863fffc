"""TLS settings of TLSContexts and Hosts, the Secrets that they need, and checks of certificates and keys.

They are for TLS towards clients and towards upstreams. ``tls_settings`` reads through ``ctx``, the others are functions
of values.
"""
