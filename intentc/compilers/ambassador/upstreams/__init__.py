"""Where requests go: the settings of a cluster, its addresses, its discovery, and its TLS.

Values, and functions that read and report problems through ``ctx``: no state but a cache of parsed addresses
(``upstreams/service_targets.py``). The resolvers' intents are here, too.
"""
