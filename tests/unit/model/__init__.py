"""Tests of ``intentc.model``."""
