"""The xDS server: serves Envoy's elements in etcd to Envoys.

The path of a change: ``elements`` decodes what the watch delivers, ``encoding`` turns each element into the bytes of
its protobuf message once, ``world`` decides which version of it is in force (never one that Envoy rejected, see
``element_states``) and puts routes into their virtual hosts (``assembly``), and each stream (``session``, in one of two
``dialects``, over gRPC by ``ads``) sends what changed, clusters before what refers to them. Compilers decide what the
elements contain; nothing here knows a user's resource.

Nothing is imported here, so that only processes that serve load gRPC and the protobuf packages.

State: the world and the streams, in memory.

Touches: clock, etcd, files, gRPC, logs, metrics, randomness; through others: environment.
"""
