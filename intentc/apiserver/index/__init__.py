"""Keeps the API server's index true of what others write straight into etcd.

Why it exists: Contrail's own tools, restores and scripts put resources at ``/<path>/<kind>/<uuid>`` without an index
entry. Without one a resource is not found by its name, is not listed below its parent, and its name is given again.
``follower`` follows etcd, ``sweep`` compares the whole index with the values, ``repair`` corrects the entries of one
resource, ``entries`` derives them, and ``rules`` names stored values that break a rule.

State: what is still to be checked, in memory; the index itself is in etcd.
"""
