"""What BERT is pre-trained on: pairs of sentences from documents, some of their tokens hidden, in batches without end.

=============================  ================================================================================================
``Corpus``, ``documents``      a text as ids on the disk, larger than memory if need be; the documents of text files
``PairLaw``, ``plan``          which sentences make a pair: b follows a in half of them
``packed``                     [CLS] a [SEP] b [SEP], with segments, cut where it is too long
``Corruption``                 what hides tokens: one by one, or ``whole_words``
``PairStream``, ``Batches``    a torch dataset of examples, and its batches: one sequence for a seed, with any number of
                               workers and processes, which goes on from where it was left
``Collator``, ``Batch``        padded rows
=============================  ================================================================================================

    corpus = Corpus.write(folder, ([ids(line) for line in document] for document in documents(files)))
    stream = PairStream(corpus, PairLaw(128), Corruption(mask_id, V), cls=cls, sep=sep, batch=32)
    batches = Batches(stream, Collator(pad_id), workers=2)
"""

from impl.bert.data.collating import Batch, Collator, Example, Place
from impl.bert.data.corpus import Chunk, Corpus, documents
from impl.bert.data.corruption import Corruption, whole_words
from impl.bert.data.pairs import NEXT, OTHER, Pair, PairLaw, packed, plan
from impl.bert.data.stream import Batches, PairStream

__all__ = [
    "NEXT",
    "OTHER",
    "Batch",
    "Batches",
    "Chunk",
    "Collator",
    "Corpus",
    "Corruption",
    "Example",
    "Pair",
    "PairLaw",
    "PairStream",
    "Place",
    "documents",
    "packed",
    "plan",
    "whole_words",
]
