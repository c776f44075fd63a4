"""A statement at the weights of a trained model: what it says of a text, beside what implementations make of it, layer by layer.

Tensors by the statement's letters are had from ``reading``, texts as its tokenizer cuts them from ``sentences``, the
implementations from ``subjects``; ``comparing`` holds one to the other, and ``causes`` finds the mistake of a layer that differs.
"""
