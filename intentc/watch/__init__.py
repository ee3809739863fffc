"""Stage 1: the store, and the discipline by which nothing that happens in it is missed.

``protocol`` says what a store is; ``etcd`` and ``memory`` are the two stores; ``source`` lists, watches and keeps
watching. Nothing is imported here, so that who needs the memory store alone does not load gRPC.
"""

import os

# Before gRPC is imported anywhere: what it prints by itself is no line of our log, and says in cryptic words what its
# errors tell as well.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
