"""Which signs a term or a tree can have, and the estimates that settle it."""
