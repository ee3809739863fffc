"""A project owns networks, groups and routers, which read its ``vxlan_routing``. Nothing follows from it alone."""

from intentc import Intent


class ProjectIntent(Intent):
    kind = "project"
