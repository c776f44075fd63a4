"""Formulas of a user's own, each stated in one file, with implementations in another that are held to them.

Nothing of attnspec names them: an address such as ``examples/formulas/rope.py:rope`` stands where an ID does.
"""
