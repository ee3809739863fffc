"""Where requests go: the settings of a cluster, its addresses, how they are found, and how TLS is spoken with them."""
