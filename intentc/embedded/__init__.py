"""An etcd and an Envoy as child processes, for ``intentc dev`` and for tests.

State: these processes, their folders and their ports; it ends and deletes them.

Touches: clock, environment, files, HTTP, processes, randomness, sockets, threads.
"""
