"""Finds the resource that a person means: by fq_name, uuid, former name, or another program's name.

It reads the engine's views and the journal, and changes nothing. State: how many threads read files. I/O: reads of the
journal's files, in threads.

Touches: clock, logs, threads; through others: files.
"""
