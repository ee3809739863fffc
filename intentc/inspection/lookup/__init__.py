"""Finds the resource that a person means: by fq_name, uuid, former name, or another program's name.

``finding`` decides; ``element_names`` has other programs' names, ``deleted`` and ``former_names`` those of deleted
resources. ``dangling`` finds references to what does not exist. ``disk_thread`` runs reads of files that may hang.

It reads the engine and the journal, and changes nothing. State: how many threads read files. The journal's files are
read in threads.
"""
