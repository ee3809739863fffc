"""Two toy compilers that both compile the shared kind ``door``, each with a reaction map of its own."""
