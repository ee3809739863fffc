"""What all listeners share: how a Module is read, the probes, and the services of the gateway.

Values, and functions that read and report problems through ``ctx``.
"""
