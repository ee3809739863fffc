"""Computes what ``/status`` shows of a running engine: tables and counters, the quarantine, pending work, and rates.

``service/`` adds what it knows of etcd, the leadership, audits and reloads.

It reads the engine and changes nothing there. State: the last samples and counts.
"""
