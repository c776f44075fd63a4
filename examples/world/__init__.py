"""Components of libraries as they install, each held to a statement: what the checker finds in the world.

    python -m examples.world

checks those whose library is installed, and adds what it finds to a record; ``docs/world.md`` is made of it. A component is
adapted in at most five lines, by the words of :mod:`verify.adapt`; a module of :mod:`examples.world.libraries` for each library.
"""
