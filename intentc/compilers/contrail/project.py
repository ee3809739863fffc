"""A project owns networks, groups and routers; routers read its ``vxlan_routing``. Nothing is compiled from it alone.

The intent yields nothing and reads nothing.
"""

from intentc import Intent


class ProjectIntent(Intent):
    kind = "project"
