"""Random requests against a real API server over a real etcd: no failure, no dead process, no held event loop.

``requests`` makes them from valid ones, ``running`` sends them and judges the answers. ``python -m tests.fuzz`` sends
as many as one likes (``make fuzz``: 28,000); ``test_some_hundred_requests.py`` is the short form.
"""
