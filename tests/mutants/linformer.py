"""Variants of ``attention.linformer``."""

import math

import torch

from tests.mutants import right, wrong
from tests.mutants.attention import raw

LINFORMER = "attention.linformer"


def mix(E, b, x):
    """The rows that x is mixed into, right."""
    return E @ x + b[:, None]


def attend(q, K, V):
    """Attention to rows, right."""
    return torch.softmax(raw(q, K), -1) @ V


def low_rank(keys=mix, values=mix, attention=attend):
    """Linformer's attention, right but for what is given."""
    return lambda q, k, v, E, b_E, F, b_F: attention(q, keys(E, b_E, k), values(F, b_F, v))


wrong(
    LINFORMER,
    "one_matrix",
    "Values are mixed by E, though F was trained.",
    cause="sharing=keys_and_values|E where F|E in",
)(lambda q, k, v, E, b_E, F, b_F: attend(q, mix(E, b_E, k), mix(E, b_E, v)))
wrong(
    LINFORMER,
    "two_matrices",
    "Values are mixed by F where E was to be shared.",
    sharing="keys_and_values",
    cause="sharing=separate",
)(low_rank())
wrong(
    LINFORMER, "matrices_exchanged", "F mixes the keys, E the values.", cause="exchanged|E and F|F where E"
)(lambda q, k, v, E, b_E, F, b_F: attend(q, mix(F, b_F, k), mix(E, b_E, v)))
wrong(LINFORMER, "without_bias", "The biases are left out.", cause="b_. is not|without b_|b_E|b_F")(
    low_rank(keys=lambda E, b, k: E @ k, values=lambda F, b, v: F @ v)
)
wrong(LINFORMER, "bias_of_the_keys_alone", "The rows of values have no bias.", cause="b_F")(
    low_rank(values=lambda F, b, v: F @ v)
)
wrong(
    LINFORMER,
    "scaled_by_rows",
    "Scores are divided by √r, as if rows were the width.",
    cause=r"√|sqrt|d_k",
)(low_rank(attention=lambda q, K, V: torch.softmax(q @ K.mT / math.sqrt(K.shape[-2]), -1) @ V))
wrong(LINFORMER, "without_scale", "Scores are not divided at all.", cause="scale is missing|√|sqrt")(
    low_rank(attention=lambda q, K, V: torch.softmax(q @ K.mT, -1) @ V)
)
wrong(LINFORMER, "over_the_queries", "The softmax is taken over the queries.", cause="softmax|wrong axis")(
    low_rank(attention=lambda q, K, V: torch.softmax(raw(q, K), -2) @ V)
)


@wrong(LINFORMER, via=lambda step: low_rank(attention=step), cause="triangle|look-ahead|mask")
def masked_rows(q, K, V):
    """A causal mask of n × r: query i sees the rows up to i, which have seen the future all the same."""
    s = raw(q, K)
    hidden = torch.ones(s.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax(s.masked_fill(hidden, -math.inf), -1) @ V


wrong(LINFORMER, "mixed_by_softmax", "The matrices are made shares first.", cause="softmax|sum to 1|E")(
    low_rank(keys=lambda E, b, k: torch.softmax(E, -1) @ k + b[:, None])
)
wrong(
    LINFORMER, "averaged", "Rows of keys are divided by the number of keys.", cause=r"divided by m|/ m|mean"
)(low_rank(keys=lambda E, b, k: E @ k / k.shape[-2] + b[:, None]))
wrong(
    LINFORMER, "pooled", "Rows are means of equal parts of the text: E is not read.", cause=r"reaches E|E\b"
)(
    low_rank(
        keys=lambda E, b, k: (
            torch.nn.functional.adaptive_avg_pool1d(k.mT.reshape(-1, *k.mT.shape[-2:]), len(E)).mT.reshape(
                *k.shape[:-2], len(E), k.shape[-1]
            )
            + b[:, None]
        )
    )
)
wrong(LINFORMER, "rows_detached", "E passes no gradient: it stays as it was drawn.", cause=r"reaches E\b")(
    low_rank(keys=lambda E, b, k: mix(E.detach(), b, k))
)
wrong(
    LINFORMER,
    "last_columns",
    "A column is moved to the front: as of a text padded on the left.",
    cause=r"E\b|columns|wrong entries",
)(low_rank(keys=lambda E, b, k: mix(E.roll(1, -1), b, k)))

right(LINFORMER, "mixed_plainly", "Mix, attend.")(low_rank())
right(LINFORMER, "shared_plainly", "Mix by E alone, attend.", sharing="keys_and_values")(
    lambda q, k, v, E, b_E, F, b_F: attend(q, mix(E, b_E, k), mix(E, b_E, v))
)
right(
    LINFORMER,
    "scores_first",
    "The scores of all keys first, then mixed: (q kᵀ) Eᵀ, and weights · F before the values.",
)(
    lambda q, k, v, E, b_E, F, b_F: (lambda A: A @ F @ v + (A @ b_F)[..., None])(
        torch.softmax((q @ k.mT @ E.mT + q.sum(-1, keepdim=True) * b_E) / math.sqrt(q.shape[-1]), -1)
    )
)
