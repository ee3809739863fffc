"""Shows what a running engine holds: resources, their relations and differences, the quarantine, the map, the journal.

``objects`` searches resources, ``neighbourhood`` collects what is around one, and ``comparison`` compares it with its
desired state. ``lists`` has the pending references and the quarantine, ``reactions`` the reaction map, ``journal`` the
lines, and ``history`` those about one object.

It reads the engine and the journal, and changes nothing. State: what one answer needs, the findings of the last maps,
and whether a failure was logged. The journal's files are read in a thread.
"""
