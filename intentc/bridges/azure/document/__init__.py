"""The document of an Application Gateway, assembled of the compiler's objects: what would be put (docs/appgw.md §8.2).

Pure functions of plain JSON, for the publisher and for `intentc compile -o appgw`.

Touches: nothing outside memory.
"""

from .assembly import Assembled, Problem, assemble
from .observed import RECORD, empty_gateway, limits_in, prefix_in, record_name, record_of
from .parts import Parts, parts_of

__all__ = [
    "RECORD",
    "Assembled",
    "Parts",
    "Problem",
    "assemble",
    "empty_gateway",
    "limits_in",
    "parts_of",
    "prefix_in",
    "record_name",
    "record_of",
]
