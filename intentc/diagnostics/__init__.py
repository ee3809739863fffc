"""What a running compiler shows of itself: health, status and metrics over HTTP, and structured logs.

``app`` answers, ``serving`` listens, ``metrics`` names the figures, ``logs`` formats and redacts. What there is to
show comes from the engine through the protocol ``Observed``. Nothing is imported here, so that a command which only
logs loads no web server.
"""
