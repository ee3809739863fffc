"""Keeps the API server's index true of what others write straight into etcd.

Why it exists: Contrail's own tools, restores and scripts put resources at ``/<path>/<kind>/<uuid>`` without an index
entry. Without one a resource is not found by its name, is not listed below its parent, and its name is given again.
``follower`` follows etcd, ``entries`` derives entries and compares the whole index with the values, ``repair`` corrects
those of single resources, and ``broken_rules`` names stored values that break a rule.
"""
