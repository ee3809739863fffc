"""The document of an Application Gateway, assembled of the compiler's objects; and the record of what a gateway has.

Pure functions of plain JSON, which they don't change, for the publisher and for commands (`intentc compile -o appgw`).
"""

from .gateway_document import Assembled, assemble
from .gateway_record import RECORD, empty_gateway, given, limits_in, prefix_in, record_name, record_of
from .parts import Parts, parts_of

__all__ = [
    "RECORD",
    "Assembled",
    "Parts",
    "assemble",
    "empty_gateway",
    "given",
    "limits_in",
    "parts_of",
    "prefix_in",
    "record_name",
    "record_of",
]
