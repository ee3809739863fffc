"""A BGP VPN lists route targets for the networks and routers that refer to it, which read its lists.

Nothing is compiled from it alone (docs/contrail.md D.11).

It yields claims and facts from what it reads through ``ctx``, and keeps nothing.
"""

from intentc import Intent


class BgpvpnIntent(Intent):
    kind = "bgpvpn"
