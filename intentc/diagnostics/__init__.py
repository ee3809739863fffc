"""What a running compiler shows of itself: answers and pages over HTTP, metrics, and structured logs.

``app`` puts the paths together and ``serving`` listens; ``access`` says who may ask. ``asking`` takes the questions,
``browsing`` those for tables, ``parameters`` checks them and ``answering`` bounds what comes out; ``events`` tells what
moves, ``pages`` shows all of it to people, ``metrics`` names the figures, ``logs`` formats and redacts. What there is
to show comes from the engine through the protocols in ``observed``. Nothing is imported here, so that a command which
only logs loads no web server.
"""
