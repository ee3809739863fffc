"""Functions that bring the fields of a kind from another version of its manifests to the stored one, and back.

A schema file names one per version under ``converted``, where moves of paths are not enough. Pure functions of plain
JSON, in one module per kind, imported by name.
"""
