"""What the pages are generated from: the statements, their proofs, the implementations and the recorded evidence.

``docs/hooks.py`` calls this package while MkDocs builds. Prose stands in Markdown files, in which ``{{ name arguments }}``
asks :mod:`generate.directives` for something generated; a page per formula comes from :mod:`generate.formula_page`.
No formula, number or verdict of a page is typed there.
"""
