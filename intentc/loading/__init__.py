"""Files that people write, read into values: YAML and JSON with lines, kinds, reaction maps' text, input resources.

The only part of intentc that knows YAML. It checks what can be said while file and line are known, and leaves the
meaning of what it read to those who asked.
"""

from .convert import convert, did_you_mean, in_words, unknown_field
from .resources import Loaded, load_resources
from .schemas import load_schema
from .yaml import Limits, Located, load_documents, load_yaml

__all__ = [
    "Limits",
    "Loaded",
    "Located",
    "convert",
    "did_you_mean",
    "in_words",
    "load_documents",
    "load_resources",
    "load_schema",
    "load_yaml",
    "unknown_field",
]
