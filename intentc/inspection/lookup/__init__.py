"""Which resource a person means: by fq_name, uuid, former name, or the name that another program uses. Read-only."""
