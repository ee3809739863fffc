"""An etcd and an Envoy as child processes, for ``intentc dev`` and for tests.

It owns these processes, their folders and their ports, and ends them.
"""
