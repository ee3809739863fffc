"""Reads what people write: YAML and JSON with line numbers, kinds, the configuration, kubeconfigs, input resources.

Only this package reads YAML. It checks what it can while file and line are known; callers interpret the values.
"""

from .convert import convert, did_you_mean, in_words, unknown_field
from .resource_files import Loaded, load_resources
from .schemas import load_schema
from .yaml import Limits, Located, load_documents, load_yaml, parse_documents

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
    "parse_documents",
    "unknown_field",
]
