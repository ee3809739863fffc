"""What an operator sets: Contrail's own ``contrail.yml`` as it is, plus one section of ours.

``sections`` says what can be set, ``reading`` gets it from file and environment, ``building`` checks it key by key.
What a setting makes the program do is left to whoever reads it.
"""

from .reading import Loaded, Note, load
from .sections import Configuration
from .values import Address, Seconds, Secret, Url

__all__ = ["Address", "Configuration", "Loaded", "Note", "Seconds", "Secret", "Url", "load"]
