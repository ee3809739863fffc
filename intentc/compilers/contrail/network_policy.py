"""A network policy takes part in walks between networks and services; nothing is compiled from it yet."""

from intentc import Intent


class NetworkPolicyIntent(Intent):
    kind = "network_policy"
