"""Finds the resource that a person means: by fq_name, uuid, former name, or another program's name.

It reads the engine and the journal, and changes nothing. State: how many threads read files. The journal's files are
read in threads.

Touches: clock, logs, threads; through others: files.
"""
