"""Finds the resource that a person means: by fq_name, uuid, former name, or another program's name."""
