"""Intended and recorded dependencies: the reaction map with its walk and checks, and the index of readers.

State: the index of readers, in memory; a map never changes once it is read.
"""

from intentc.logic.dependencies.map_check import Finding, findings
from intentc.logic.dependencies.processor import DependencyProcessor, Neighbours, Path
from intentc.logic.dependencies.reactions import ReactionMap, load
from intentc.logic.dependencies.read_index import ReadIndex

__all__ = ["DependencyProcessor", "Finding", "Neighbours", "Path", "ReactionMap", "ReadIndex", "findings", "load"]
