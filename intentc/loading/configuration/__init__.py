"""Loads the configuration: Contrail's own ``contrail.yml``, plus one section of ours.

``sections`` declares the settings, ``reading`` gets them from file and environment, ``building`` checks them key by
key, ``risks`` reports unsafe ones. The modules that use a setting decide its effect.

State: secrets read from files, until these change.

Touches: files.
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
