class Examples: pass
