"""What the listeners of a Gateway mean: which are valid, their ports, certificates and attached routes.

Both versions of Gateways are read into one model (``listener.py``). From the bottom up: ``hostnames``, ``listener``,
``checks`` (each by itself, and conflicts), ``overlaps``, ``ports``, ``certificates`` and ``references`` (Secrets and
grants), ``routes``. ``checking.py`` of the compiler runs them; ``conditions`` says it in the words of each version.
"""
