"""What the path costs, measured: `python -m tests.perf` (`make bench`).

Every figure stands beside its floor, the same work without the compiler, in the same run on the same machine; machines
differ and are shared, ratios hold. The compiler, the API server, the sink and the floor each run in a process of their
own, so that CPU and memory are theirs alone. Nothing here decides whether the product is right: the other tests do.
"""
