"""A candidate beside any reference in PyTorch, for which there is no statement: graded by the spread of careful arithmetic."""
