"""The document of an Application Gateway, assembled of the compiler's objects; and the record of what a gateway has.

``assembly`` puts together what would be put to Azure (docs/appgw.md §8.2, §10); ``observed`` makes the record.

Pure functions of plain JSON, for the publisher and for commands, such as `intentc compile -o appgw`.
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
