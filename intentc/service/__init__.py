"""Runs the engine with a real etcd and API server: start, takeover, reload, periodic audits, status.

State: the tasks, and when each starts and ends. Rules of a stage stay in that stage.

Touches: API server, clock, environment, etcd, logs, threads; through others: files, gRPC, processes, randomness.
"""
