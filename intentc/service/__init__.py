"""Runs the engine with a real etcd and API server: start, takeover, reload, periodic audits, status.

It owns the tasks, the connections and the moment of each start and end; rules of a stage stay in that stage.
"""
