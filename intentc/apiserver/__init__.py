"""The API server that intentc brings along: Contrail's REST API and a Kubernetes-compatible API, over etcd alone.

Why it exists: the engine writes through an API server. A laptop, a test and a small installation need one that keeps
the promises that the engine relies on (so it is called the reference): one compare-and-set transaction per mutation,
fences, and revisions in answers. ``api_server.py`` is the whole server on plain values; ``app.py`` adds HTTP,
``kubernetes/`` manifests, ``local.py`` the writing stage's interfaces. ``admission/`` has the rules of the kinds.
Nothing here compiles. Its only lasting state is in etcd, at the keys of ``layout``.
"""
