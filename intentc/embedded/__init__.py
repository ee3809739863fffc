"""An etcd and an Envoy as child processes, for ``intentc dev`` and for tests."""
