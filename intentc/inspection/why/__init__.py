"""Answers ``GET /why``: why a resource exists or does not, from its sources to its history."""
