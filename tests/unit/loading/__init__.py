"""Tests of ``intentc.loading`` and of the data that ships with it."""
