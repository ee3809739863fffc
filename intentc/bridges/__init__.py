"""Processes that deliver compiled resources to other systems, one package each.

A bridge reads compiled objects from etcd, keeps its state in its own process, and writes nothing of a compiler's.

Touches: nothing outside memory.
"""
