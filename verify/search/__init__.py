"""The search for a violation, one function for each kind of check; a counterexample is shrunk, and may be explained."""
