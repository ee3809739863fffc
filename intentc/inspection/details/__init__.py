"""Lists what a running engine holds: resources, outputs, references, the quarantine, the journal.

It reads the engine and the journal, and changes nothing. State: what one answer needs, and the findings of the last
maps. The journal's files are read in a thread.

Touches: logs, threads; through others: clock, files, randomness.
"""
