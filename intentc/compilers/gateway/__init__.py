"""The compiler of running Contours: GatewayClasses, Gateways and Contours become a Contour and its Envoys in a cluster.

``instance.py`` has the typed value that stands between the two halves: what users wrote, checked, becomes an
``Instance``; ``children`` turns an ``Instance`` into the objects of a cluster.

Not registered yet: there are no intents.

Touches: nothing outside memory.
"""
