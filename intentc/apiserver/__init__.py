"""The reference API server: Contrail's REST conventions over etcd (spec B), without a database beside it.

Why it exists: the compiler writes through an API server, and a laptop, a test and a small installation need one that
keeps the promises that the compiler relies on: one compare-and-set transaction a mutation, fences, revisions told.
``service.py`` is the whole server on plain values; ``app.py`` puts HTTP in front of it, ``local.py`` the writing
stage's interfaces. Compiling is not its business.
"""
