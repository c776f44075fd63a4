"""Variants of ``bert.pooler``."""

import torch.nn.functional as F

from tests.mutants import right, wrong

POOLER = "bert.pooler"
wrong(POOLER, "pooled_without_tanh", "Forgets the tanh.", cause="no tanh")(
    lambda x, W, b: F.linear(x[..., 0, :], W.mT, b)
)
wrong(POOLER, "last_token_pooled", "Reads the last token.", cause="x is .*from (the|its) end")(
    lambda x, W, b: F.linear(x[..., -1, :], W.mT, b).tanh()
)
wrong(POOLER, "second_token_pooled", "Counts tokens from 1, where there is a second.", cause="to the end")(
    lambda x, W, b: F.linear(x[..., min(1, x.shape[-2] - 1), :], W.mT, b).tanh()
)
wrong(POOLER, "mean_pooled", "The mean of all tokens.", cause="mean of (all|the) (rows|tokens)|mean over n")(
    lambda x, W, b: F.linear(x.mean(-2), W.mT, b).tanh()
)
wrong(POOLER, "largest_pooled", "The largest entry over all tokens.", cause="largest (entry|of)|maximum")(
    lambda x, W, b: F.linear(x.amax(-2), W.mT, b).tanh()
)
wrong(
    POOLER,
    "pooled_untransposed",
    "The matrix transposed: being square, it does not show.",
    cause=r"axes swapped.*\bW\b",
)(lambda x, W, b: F.linear(x[..., 0, :], W, b).tanh())
wrong(POOLER, "pooled_without_bias", "Forgets the bias.", cause=r"\bb\S* is (not added|ignored)")(
    lambda x, W, b: F.linear(x[..., 0, :], W.mT, 0 * b).tanh()
)
wrong(POOLER, "tanh_before_the_layer", "The tanh of the row, not of the layer.", cause=r"tanh.*\bx\b")(
    lambda x, W, b: F.linear(x[..., 0, :].tanh(), W.mT, b)
)
wrong(POOLER, "pooled_by_gelu", "GELU instead of tanh.", cause=r"GELU (in|of)\b")(
    lambda x, W, b: F.gelu(F.linear(x[..., 0, :], W.mT, b))
)
wrong(POOLER, "pooled_detached", "No gradient reaches the hidden states.", cause=r"reaches x\b")(
    lambda x, W, b: F.linear(x[..., 0, :].detach(), W.mT, b).tanh() + 0 * x[..., 0, :]
)
right(POOLER, "pooled_by_products", "The products written out, and their sum over the entries of the row.")(
    lambda x, W, b: ((x[..., 0, :, None] * W).sum(-2) + b).tanh()
)
right(POOLER, "pooled_everywhere", "Every token through the layer, then the first.")(
    lambda x, W, b: F.linear(x, W.mT, b).tanh()[..., 0, :]
)
