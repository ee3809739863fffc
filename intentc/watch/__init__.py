"""Stage 1: the store, and the watch discipline, which misses no event.

``protocol`` defines a store; ``etcd`` and ``memory`` are the two stores; ``source`` lists, watches and keeps watching.
``lease_keeper`` renews the leader's lease; ``keys`` builds keys that several packages use. Nothing is imported here, so
that users of the memory store don't load gRPC.
"""

import os

# Before gRPC is imported anywhere: its own output is not in the form of our log, and only repeats in cryptic words what
# its errors say.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
