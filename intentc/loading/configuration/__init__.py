"""Loads the configuration: Contrail's own ``contrail.yml``, plus one section of ours.

``sections`` declares the settings by the types in ``setting_types``; ``reading`` gets them from the file and from
variables; ``building`` checks them key by key; ``risks`` reports or rejects unsafe ones.
"""

from .reading import Loaded, load
from .risks import Note, open_api_server, plain_secrets, secret_key_lines
from .sections import Configuration
from .setting_types import Address, FilePath, HostName, Seconds, Secret, Settings, Url, canonical_host, is_loopback

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
    "plain_secrets",
    "secret_key_lines",
]
