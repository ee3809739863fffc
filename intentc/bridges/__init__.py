"""Processes that deliver compiled resources to other systems, one package each."""
