"""Processes that carry compiled resources to other systems, one package each."""
