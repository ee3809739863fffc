"""Intended and recorded dependencies: the reaction map with its walk and checks, and the index of readers.

State: the index of readers, in memory; a map never changes once it is read.
"""

from .check import Finding, findings
from .processor import DependencyProcessor, Neighbours, Path
from .reactions import ReactionMap, load
from .reads import ReadIndex

__all__ = ["DependencyProcessor", "Finding", "Neighbours", "Path", "ReactionMap", "ReadIndex", "findings", "load"]
