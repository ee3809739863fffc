"""The reference API server: Contrail's REST conventions over etcd, without another database.

Why it exists: the engine writes through an API server. A laptop, a test and a small installation need one that keeps
the promises that the engine relies on: one compare-and-set transaction per mutation, fences, and revisions in
answers. ``service.py`` is the whole server on plain values; ``app.py`` adds HTTP, ``local.py`` the writing stage's
interfaces. Nothing here compiles.

Its only lasting state is in etcd, below its own keys (``layout``); ``mutation`` alone writes there. In memory: tokens
and log-ins, one mutation at a time, and the last readiness.

Touches: clock, etcd, HTTP, logs, randomness, sockets; through others: environment, files.
"""
