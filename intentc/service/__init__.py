"""Runs the engine with a real etcd and API server: start, takeover, reload, periodic audits, status."""
