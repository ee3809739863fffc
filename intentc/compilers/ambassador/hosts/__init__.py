"""What Hosts and Listeners mean, as typed values, and how Hosts meet on Listeners.

Values, and functions that read through ``ctx``. The intents are in the package above; patterns of host names are in
``routing/hostnames.py``.
"""
