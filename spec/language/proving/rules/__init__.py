"""The rewriting rules: the normal form that they lead to, by subject, and the register that names each with its law."""
