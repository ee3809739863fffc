"""Lists what a running engine holds: resources, outputs, references, the quarantine, the journal."""
