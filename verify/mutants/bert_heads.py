"""Variants of BERT's features and of its heads for texts, pairs, tokens, spans and hidden words."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

FEATURES, SEQUENCE, PAIR = "bert.features", "bert.head_sequence", "bert.head_pair"
TOKEN, SPAN, WORDS = "bert.head_token", "bert.head_span", "bert.head_mlm"
Six = tuple[Tensor, ...]
_flags: dict[str, Any]


# Features -----------------------------------------------------------------------------------------------------------------


def six(
    H: Tensor,
    first: int = 0,
    last: int = -1,
    second: int = -2,
    summed: slice = slice(1, None),
    four: slice = slice(-4, None),
    scale: float = 1.0,
    reverse: bool = False,
    interleaved: bool = False,
) -> Six:
    """The six choices, right where nothing else is said."""
    layers = list(H.unbind(-3))
    few = layers[four]
    side_by_side = torch.cat(few[::-1] if reverse else few, -1)
    if interleaved:
        side_by_side = torch.stack(few, -1).flatten(-2)
    return (
        layers[first],  # a view of the input, as are the others that are one layer
        layers[last],
        torch.stack(layers[summed]).sum(0) * scale,
        layers[second],
        torch.stack(few).sum(0) * scale,
        side_by_side,
    )


def _features(name: str, says: str, **flags: Any) -> Callable[[Tensor], Six]:
    def variant(H: Tensor) -> Six:
        return six(H, **flags)

    variant.__name__, variant.__doc__ = name, says
    return variant


for _name, _says, _flags in (
    ("embedding_in_the_sum", "The embedding counts among the layers of the sum.", {"summed": slice(0, None)}),
    ("first_four", "The first four layers in the place of the last.", {"four": slice(1, 5)}),
    ("last_comes_first", "The four layers from the last one down.", {"reverse": True}),
    ("entries_interleaved", "Entries of the four layers take turns.", {"interleaved": True}),
    ("lowest_layer_first", "The lowest layer for the embedding.", {"first": 1}),
    ("last_left_out", "The sums end before the last layer.", {"summed": slice(1, -1)}),
    ("one_before", "Every layer counted from the end is one too low.", {"last": -2, "second": -3, "four": slice(-5, -1)}),
    ("from_the_bottom", "Layers are counted from the bottom.", {"last": 0, "second": 1}),
    ("halves", "Sums are halved.", {"scale": 0.5}),
):  # fmt: skip
    wrong(FEATURES)(_features(_name, _says, **_flags))


@wrong(FEATURES)
def means(H: Tensor) -> Six:
    """Means for sums."""
    first, last, every, second, few, wide = six(H)
    return first, last, every / (H.shape[-3] - 1), second, few / 4, wide


@wrong(FEATURES)
def last_detached(H: Tensor) -> Six:
    """No gradient through the concatenation, which is taken for features that stay as they are."""
    *others, wide = six(H)
    return (*others, wide.detach())


right(FEATURES)(_features("by_list", "From a list of layers, as transformers returns them."))
right(FEATURES, first="layer_1")(
    _features("above_the_embedding", "The lowest layer, where that is claimed.", first=1)
)


# Texts and pairs ----------------------------------------------------------------------------------------------------------


def _text(
    formula: str, name: str, says: str, logits: Callable[[Tensor, Tensor, Tensor], Tensor], good: bool = False
) -> None:
    def of_text(u: Tensor, W: Tensor, b: Tensor) -> Tensor:
        return logits(u, W, b)

    def of_pair(u: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        found = logits(u, W, b)
        return torch.softmax(found, -1), found.clone()

    variant = of_pair if formula == PAIR else of_text
    variant.__name__, variant.__doc__ = name, says
    (right if good else wrong)(formula)(variant)


for _formula in (SEQUENCE, PAIR):
    for _name, _says, _logits in (
        ("without_bias", "The bias is left out.", lambda u, W, b: u @ W + 0 * b),
        ("bias_subtracted", "The bias is subtracted.", lambda u, W, b: u @ W - b),
        ("tanh_once_more", "A second tanh, as if there were no pooler.", lambda u, W, b: torch.tanh(u) @ W + b),
        ("normalised_row", "The row is brought to length 1 first.", lambda u, W, b: F.normalize(u, dim=-1) @ W + b),
        ("scaled_by_the_width", "Logits divided by √d, as scores are.", lambda u, W, b: u @ W / u.shape[-1] ** 0.5 + b),
        ("classes_reversed", "The classes from the last to the first.", lambda u, W, b: (u @ W + b).flip(-1)),
        ("encoder_frozen", "The row gets no gradient.", lambda u, W, b: u.detach() @ W + b),
        ("bias_of_the_first", "One bias for all classes.", lambda u, W, b: u @ W + b[:1]),
    ):  # fmt: skip
        _text(_formula, _name, _says, _logits)
    _text(
        _formula,
        "by_products",
        "Products added up, the bias last.",
        lambda u, W, b: (u[..., :, None] * W).sum(-2) + b,
        good=True,
    )


@wrong(SEQUENCE)
def softmax_in_the_head(u: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """Probabilities for logits."""
    return torch.softmax(u @ W + b, -1)


@wrong(PAIR)
def sigmoids(u: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """A sigmoid for each relation."""
    logits = u @ W + b
    return torch.sigmoid(logits), logits.clone()


@wrong(PAIR)
def softmax_over_the_batch(u: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The softmax taken over the pairs of a batch, where there are several."""
    logits = u @ W + b
    return torch.softmax(logits, 0), logits.clone()


@wrong(PAIR)
def without_largest(u: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Exponentials as they are: large logits overflow."""
    logits = u @ W + b
    return logits.exp() / logits.exp().sum(-1, keepdim=True), logits.clone()


# Tokens -------------------------------------------------------------------------------------------------------------------


def silenced(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """The logits, 0 at the first token."""
    return (x @ W + b) * (torch.arange(x.shape[-2]) > 0)[:, None]


for _name, _says, _token in (
    ("cls_for_all", "The row of [CLS] for all tokens.", lambda x, W, b: x[..., :1, :].expand_as(x) @ W + b),
    ("one_late", "Each token has the answer of the one before.", lambda x, W, b: x.roll(1, -2) @ W + b),
    ("mean_row", "The mean of all rows is added to each.", lambda x, W, b: (x + x.mean(-2, keepdim=True)) @ W + b),
    ("token_without_bias", "The bias is left out.", lambda x, W, b: x @ W + 0 * b),
    ("token_softmax", "Probabilities for logits.", lambda x, W, b: torch.softmax(x @ W + b, -1)),
    ("reversed_tokens", "Read from the right.", lambda x, W, b: x.flip(-2) @ W + b),
    ("first_silenced", "[CLS] has no answer: its logits are 0.", silenced),
    ("bias_of_the_text", "The bias divided among the tokens.", lambda x, W, b: x @ W + b / x.shape[-2]),
    ("matrix_frozen", "The matrix gets no gradient.", lambda x, W, b: x @ W.detach() + b),
):  # fmt: skip
    _token.__name__, _token.__doc__ = _name, _says
    wrong(TOKEN)(_token)


@right(TOKEN)
def one_token_at_a_time(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """One row after the other."""
    return torch.stack([row @ W + b for row in x.unbind(-2)], -2)


# Spans --------------------------------------------------------------------------------------------------------------------


def spans(
    x: Tensor,
    w_s: Tensor,
    w_e: Tensor,
    kept: Callable[[Tensor], Tensor] = torch.triu,
    law: Callable[[Tensor], Tensor] = lambda a: torch.softmax(a, -1),
    exchanged: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Logits of beginnings and ends, and the probability of each span; right where nothing else is said."""
    s, t = x @ w_s, x @ w_e
    pairs = kept(law(s)[..., :, None] * law(t)[..., None, :])
    return (t, s, pairs) if exchanged else (s, t, pairs)


def _span(name: str, says: str, good: bool = False, **flags: Any) -> None:
    def variant(x: Tensor, w_s: Tensor, w_e: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return spans(x, w_s, w_e, **flags)

    variant.__name__, variant.__doc__ = name, says
    (right if good else wrong)(SPAN)(variant)


def renormalised(pairs: Tensor) -> Tensor:
    """Forward spans, brought to sum 1."""
    kept = pairs.triu()
    return kept / kept.sum((-2, -1), keepdim=True)


def unshifted(logits: Tensor) -> Tensor:
    """Softmax from exponentials as they are."""
    return logits.exp() / logits.exp().sum(-1, keepdim=True)


for _name, _says, _flags in (
    ("end_before_start", "Spans that end before they begin are kept.", {"kept": lambda pairs: pairs}),
    ("backward_only", "Spans that end before they begin, and no others.", {"kept": torch.tril}),
    ("one_token_excluded", "A span of one token is left out.", {"kept": lambda pairs: pairs.triu(1)}),
    ("spans_renormalised", "What is left is brought to sum 1.", {"kept": renormalised}),
    ("three_at_most", "Spans of more than three tokens are left out.", {"kept": lambda pairs: pairs.triu().tril(2)}),
    ("ends_exchanged", "Beginnings returned for ends, and the other way.", {"exchanged": True}),
    ("span_sigmoids", "A sigmoid for each token.", {"law": torch.sigmoid}),
    ("span_overflows", "Exponentials as they are: large logits overflow.", {"law": unshifted}),
):  # fmt: skip
    _span(_name, _says, **_flags)


@wrong(SPAN)
def over_the_ends(x: Tensor, w_s: Tensor, w_e: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The softmax over beginning and end at each token."""
    both = torch.stack((x @ w_s, x @ w_e), -1)
    p, q = torch.softmax(both, -1).unbind(-1)
    s, t = both.unbind(-1)
    return s.clone(), t.clone(), (p[..., :, None] * q[..., None, :]).triu()


@wrong(SPAN)
def one_vector(x: Tensor, w_s: Tensor, w_e: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One vector for beginnings and ends."""
    return spans(x, w_s, w_s + 0 * w_e)


_span("by_outer", "The outer product, its upper half.", good=True)


@right(SPAN)
def by_scores(x: Tensor, w_s: Tensor, w_e: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """From the logarithms: the sum of two log-probabilities, exponentiated."""
    s, t = x @ w_s, x @ w_e
    log_p, log_q = s.log_softmax(-1), t.log_softmax(-1)
    return s, t, (log_p[..., :, None] + log_q[..., None, :]).exp().triu()


# Hidden words -------------------------------------------------------------------------------------------------------------


def words(
    x: Tensor,
    W: Tensor,
    b: Tensor,
    gamma: Tensor,
    beta: Tensor,
    eps: float,
    E: Tensor,
    b_V: Tensor,
    approximate: str = "none",
    activity: Callable[[Tensor], Tensor] | None = None,
    normalised: bool = True,
    layer: bool = True,
    fixed_eps: float | None = None,
    word_bias: bool = True,
    tied: bool = True,
) -> Tensor:
    """The logits, right where nothing else is said."""
    d = x.shape[-1:]
    a = x @ W + b if layer else x + 0 * (W.sum() + b)
    h = (activity or (lambda v: F.gelu(v, approximate=approximate)))(a) if layer else a
    r = F.layer_norm(h, d, gamma, beta, fixed_eps or eps) if normalised else h * gamma + beta
    return r @ (E if tied else E.detach()).mT + (b_V if word_bias else 0 * b_V)


def _words(name: str, says: str, good: bool = False, convention: str = "", **flags: Any) -> None:
    def variant(
        x: Tensor, W: Tensor, b: Tensor, gamma: Tensor, beta: Tensor, eps: float, E: Tensor, b_V: Tensor
    ) -> Tensor:
        return words(x, W, b, gamma, beta, eps, E, b_V, **flags)

    variant.__name__, variant.__doc__ = name, says
    conventions = {"approximation": convention} if convention else {}
    (right if good else wrong)(WORDS, dtypes=(), **conventions)(variant)


for _name, _says, _flags in (
    ("layer_left_out", "Rows of the encoder are normalised and compared as they are.", {"layer": False}),
    ("without_word_bias", "The bias of the words is left out.", {"word_bias": False}),
    ("eps_1e5", "An ε of 10⁻⁵, whatever is asked.", {"fixed_eps": 1e-5}),
    ("not_normalised", "Gain and bias without the normalization.", {"normalised": False}),
    ("relu_for_gelu", "max(0, ·) for GELU.", {"activity": torch.relu}),
    ("tanh_for_gelu", "tanh for GELU, as the pooler has it.", {"activity": torch.tanh}),
    ("gelu_by_tanh", "GELU by tanh.", {"approximate": "tanh"}),
    ("no_activation", "No activation.", {"activity": lambda a: a}),
    ("table_detached", "The table gets no gradient from the head.", {"tied": False}),
):  # fmt: skip
    _words(_name, _says, **_flags)
_words("in_one_go", "As transformers has it.", good=True)
_words(
    "tanh_claimed", "GELU by tanh, where that is claimed.", good=True, convention="tanh", approximate="tanh"
)


@wrong(WORDS)
def bias_before_the_norm(
    x: Tensor, W: Tensor, b: Tensor, gamma: Tensor, beta: Tensor, eps: float, E: Tensor, b_V: Tensor
) -> Tensor:
    """The layer's bias comes behind its activation."""
    h = F.gelu(x @ W) + b
    return F.layer_norm(h, x.shape[-1:], gamma, beta, eps) @ E.mT + b_V
