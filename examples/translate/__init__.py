"""Numbers between words and digits: a small Transformer is trained, and measured on numbers whose halves it never saw in place.

    python -m examples.translate

trains ``impl.transformer`` on both directions at once with the optimiser, the schedule and the label smoothing of Vaswani et al.
2017, and then writes held-out numbers by greedy and by beam search (``impl.decoding``). ``numerals`` says what is held out.
Printed: the share of numbers that come out right in every word, some of them, and what a wider beam changes. The folder given by
``--out`` gets figures, a record, and the checkpoint: a run that was killed goes on from there, and ends with the weights that it
would have had (on the same machine, on the CPU).

===============  ============================================================================================
``numerals``     the task: numbers, their words, what is held out
``training``     settings, and a run that can stop at any step and go on
``measuring``    what a trained model writes, and how much of it is right
``drawing``      the figures
===============  ============================================================================================
"""
