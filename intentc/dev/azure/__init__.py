"""A stand-in for Azure Resource Manager with one application gateway, so that ``intentc appgw`` can be tried anywhere.

It is not Azure: it answers as Azure's public REST conventions say, and rejects what Azure is known to reject
(docs/appgw.md). ``validation`` holds what is rejected of a document, ``resource_manager`` what a gateway does over
time, ``resource_manager_http`` the wire. Codes that users have seen are Azure's; the others are named after its habit.
Tests and ``intentc dev`` use it.

State: one gateway with its operations, and the requests that were made, in memory.
"""

from .resource_manager import ResourceManager
from .resource_manager_http import serving_resource_manager

__all__ = ["ResourceManager", "serving_resource_manager"]
