"""Where requests go: the settings of a cluster, its addresses, its discovery, and its TLS.

Values, and functions that read through ``ctx``: no state, no I/O. The resolvers' intents are here, too.
"""
