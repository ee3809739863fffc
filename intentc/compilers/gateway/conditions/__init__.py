"""What is said of Gateways, listeners and Contours, in the words of each version (docs/gateway.md §9).

``condition.py`` is the value; ``early`` has the words of v1alpha1, ``current`` those of version 1, ``contours`` those
of Contours. Which situation holds is decided by the intents; here it becomes conditions.
"""
