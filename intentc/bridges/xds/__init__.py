"""The xDS server: what stands in etcd as elements of Envoy, served to Envoys as they ask for it.

The way of a change: ``elements`` decodes what the watch tells, ``encoding`` turns each element into the bytes of its
protobuf message once, ``world`` decides which version of it is in force (``standing``: what Envoy refused never is)
and puts routes in their places (``assembly``), and each stream (``session``, spoken in two ``dialects`` by ``ads``) is
told what changed, clusters before what refers to them. What the elements say is the compilers' business; nothing here
knows a user's resource.

Nothing is imported here: gRPC and the protobuf packages are loaded by those who serve.
"""
