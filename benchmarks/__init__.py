"""Speed of our implementations beside that of PyTorch and transformers: ``python -m benchmarks``."""
