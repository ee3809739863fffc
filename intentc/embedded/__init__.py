"""An etcd and an Envoy as child processes, for ``intentc dev`` and for tests; ``process`` runs other servers so, too.

State: these processes, their folders and their ports; it ends the processes, and deletes the folders that it made.
"""
