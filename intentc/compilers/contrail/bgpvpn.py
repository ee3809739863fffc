"""A BGP VPN lists route targets for the networks and routers that refer to it, which read its lists.

Nothing is compiled from it alone (docs/contrail.md D.11).

The intent yields nothing and reads nothing.
"""

from intentc import Intent


class BgpvpnIntent(Intent):
    kind = "bgpvpn"
