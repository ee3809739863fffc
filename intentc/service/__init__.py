"""The engine beside a real etcd and API server: start, takeover, reload, periodic audits, status."""
