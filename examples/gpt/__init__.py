"""GPT in small: it learns the source text of Python's library, order without positions, and tasks from its prompt alone.

    python -m examples.gpt

trains ``impl.gpt`` on the files of Python's own library in a few minutes, and says how many bits a byte of held-out files costs
it, beside a model that counts which byte follows five others, gzip and xz. The model and its tokens are saved as Hugging Face
saves a GPT-2, and read back by transformers.

    python -m examples.gpt positions
    python -m examples.gpt few_shot

compare: positions learned, as sines, and none at all, with several seeds; and how many examples in a prompt a model needs for a
map that it was not trained on, its weights untouched.

The folder given by ``--out`` gets figures, a record, and the checkpoints: what was killed goes on from there.

===============  ============================================================================================
``text``         the files, their tokens, bits for a byte
``baselines``    counts of bytes, and compressors
``symbols``      the family of small tasks
``training``     settings, and a run that can stop at any step and go on
``comparing``    what each command finds, and its record
``drawing``      the figures
===============  ============================================================================================
"""
