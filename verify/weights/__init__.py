"""A statement at the weights of a trained model: what it says of a text, beside what implementations make of it, layer by layer.

``reading`` has a checkpoint's tensors by the statement's letters, ``sentences`` has texts as its tokenizer cuts them, ``subjects``
has the implementations; ``comparing`` holds one to the other, and ``causes`` finds which mistake a layer that differs has.
"""
