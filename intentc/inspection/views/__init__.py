"""Lists and tables of what a running engine holds: resources, outputs, results, references, the journal. Read-only."""
