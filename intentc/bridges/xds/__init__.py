"""The xDS server: serves Envoy's elements in etcd to Envoys, and records in etcd what they reject.

The path of a change: ``watch_consumer`` takes what the watch delivers, ``elements`` decodes it, ``encoding`` turns each
element into the bytes of its protobuf message once, ``snapshot_cache`` decides which version of it is in force
(``element_states``) and puts routes into their virtual hosts (``route_configurations``), and each stream (``session``,
in one of two ``dialects``, over gRPC by ``ads``) sends what changed, clusters before what refers to them.
``rejections`` finds the element that an Envoy rejects, ``rejection_records`` writes it to etcd. ``serving`` runs it
all; ``bootstrap`` is for commands.

Nothing is imported here, so that only processes that need them load gRPC and the protobuf packages.
"""
