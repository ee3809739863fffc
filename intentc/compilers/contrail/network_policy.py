"""A network policy takes part in walks between networks and services; no access control lists follow from it yet."""

from intentc import Intent


class NetworkPolicyIntent(Intent):
    kind = "network_policy"
