"""What an operator sets: Contrail's own ``contrail.yml`` as it is, plus one section of ours.

``sections`` says what can be set, ``reading`` gets it from file and environment, ``building`` checks it key by key,
``risks`` says what is unwise about it.
What a setting makes the program do is left to whoever reads it.
"""

from .reading import Loaded, load
from .risks import Note, open_api_server
from .sections import Configuration
from .values import Address, FilePath, HostName, Seconds, Secret, Settings, Url, canonical_host, is_loopback

__all__ = [
    "Address",
    "Configuration",
    "FilePath",
    "HostName",
    "Loaded",
    "Note",
    "Seconds",
    "Secret",
    "Settings",
    "Url",
    "canonical_host",
    "is_loopback",
    "load",
    "open_api_server",
]
