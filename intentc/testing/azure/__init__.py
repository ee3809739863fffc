"""A stand-in for Azure Resource Manager with one application gateway, so that ``intentc appgw`` can be tried anywhere.

It is not Azure: it answers as Azure's public REST conventions say, and rejects what Azure is known to reject
(docs/appgw.md). ``validation`` holds what is rejected, ``resource_manager`` what a gateway does over time, ``http`` the
wire. Codes that users have seen are Azure's; the others are named after its habit.

State: one gateway, in memory.

Touches: HTTP, sockets.
"""

from .http import serving_resource_manager
from .resource_manager import ResourceManager

__all__ = ["ResourceManager", "serving_resource_manager"]
