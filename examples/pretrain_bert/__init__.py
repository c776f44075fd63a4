"""BERT from nothing: a small one is pre-trained on text that is there already, here Python's own library.

    python -m examples.pretrain_bert --config FILE

learns a vocabulary from the text (kept for the next time), writes the text as ids, and trains ``impl.bert`` to guess hidden
words and whether a sentence follows another. Printed: the loss of a hidden word on files that training never saw, beside that
of who knows how often words occur in the text, and reads nothing of what stands around a word. A run that
was killed goes on from its last checkpoint, and ends with the weights that it would have had (on the same machine, on the CPU).

    torchrun --nproc-per-node 2 -m examples.pretrain_bert --config FILE

starts several processes: each has its part of every batch, and a copy of the model (DDP) or its part of the parameters (FSDP2,
as the configuration says). Losses are those of one process, up to rounding.

===============  =========================================================================================
``settings``     the TOML file; ``small.toml`` is the one that is shipped
``text``         files, documents, sentences; the vocabulary; ids on the disk
``processes``    one process or several
``training``     a run that can stop at any step and go on
``shares``       80/10/10 beside 100/0/0: ``python -m examples.pretrain_bert.shares``
===============  =========================================================================================
"""
