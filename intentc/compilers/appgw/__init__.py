"""The compiler of an Azure Application Gateway: Ingresses become the sub-resources of one gateway (docs/appgw.md).

Touches: nothing outside memory.
"""

from intentc import Compiler

from .settings import SETTINGS

compiler = Compiler("appgw", [], settings=SETTINGS)
"""The entry point ``appgw`` of the group ``intentc.compilers``."""
