"""The views of a gateway (docs/ambassador.md §4.6): its routes, its host names, its TCP connections, and its services.

Each module is one view: it reads the elements and problems through the ``Compiled`` that it gets, and changes nothing.
``columns`` is what they share. The callers do paging and filtering.
"""

from intentc import Overview

from .connections import CONNECTIONS
from .domains import DOMAINS
from .routes import ROUTES
from .services import SERVICES

VIEWS: dict[str, Overview] = {"routes": ROUTES, "domains": DOMAINS, "connections": CONNECTIONS, "services": SERVICES}
"""By the names under which commands and the API offer them."""
