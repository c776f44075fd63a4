"""Causes of a falsification: a table of probes, and explanations that are held to what was returned."""
