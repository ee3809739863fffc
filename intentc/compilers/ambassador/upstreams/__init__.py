"""Where requests go: the settings of a cluster, its addresses, its discovery, and its TLS."""
