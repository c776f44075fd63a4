"""Variants of BERT's features and of its heads for texts, pairs, tokens, spans and hidden words."""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

FEATURES, SEQUENCE, PAIR = "bert.features", "bert.head_sequence", "bert.head_pair"
TOKEN, SPAN, WORDS = "bert.head_token", "bert.head_span", "bert.head_mlm"

# Features -----------------------------------------------------------------------------------------------------------------


def features(
    first=0, last=-1, second=-2, summed=slice(1, None), four=slice(-4, None), scale=1.0, join=torch.cat
):
    """The six choices, right where nothing else is said; each that is one layer is a view of the input."""

    def six(H):
        layers = H.unbind(-3)
        every, few = torch.stack(layers[summed]).sum(0), torch.stack(layers[four]).sum(0)
        return layers[first], layers[last], every * scale, layers[second], few * scale, join(layers[four], -1)

    return six


wrong(
    FEATURES,
    "embedding_in_the_sum",
    "The embedding counts among the layers of the sum.",
    cause=r"first is added to sum_all|H\[0\S* is added",
)(features(summed=slice(0, None)))
wrong(
    FEATURES,
    "first_four",
    "The first four layers instead of the last.",
    cause="first four|_last_four reads|instead of K",
)(features(four=slice(1, 5)))
wrong(
    FEATURES, "last_comes_first", "The four layers from the last one down.", cause="concat_last_four.*order"
)(features(join=lambda few, dim: torch.cat(few[::-1], dim)))
wrong(
    FEATURES,
    "entries_interleaved",
    "Entries of the four layers take turns.",
    cause="interleav|axes swapped: concat",
)(features(join=lambda few, dim: torch.stack(few, dim).flatten(-2)))
wrong(
    FEATURES, "lowest_layer_first", "The lowest layer for the embedding.", cause=r"layer_1|first reads|H\[1"
)(features(first=1))
wrong(FEATURES, "last_left_out", "The sum of all ends before the last layer.", cause="leaves out the last")(
    features(summed=slice(1, -1))
)
wrong(
    FEATURES, "one_before", "Every layer counted from the end is one too low.", cause="off by one|moved by"
)(features(last=-2, second=-3, four=slice(-5, -1)))
wrong(FEATURES, "from_the_bottom", "Layers are counted from the bottom.", cause="from the bottom|last reads")(
    features(last=0, second=1)
)
wrong(FEATURES, "halves", "Sums are halved.", cause=r"sum_\w+ is halved|0\.5 times")(features(scale=0.5))


@wrong(FEATURES, cause="the mean over|is divided by (K|4)")
def means(H):
    """Means for sums."""
    first, last, every, second, few, wide = features()(H)
    return first, last, every / (H.shape[-3] - 1), second, few / 4, wide


wrong(
    FEATURES,
    "last_detached",
    "No gradient through the concatenation, as if those features stayed.",
    cause="concat_last_four.*constant",
)(features(join=lambda few, dim: torch.cat(few, dim).detach()))
right(FEATURES, "by_list", "From a list of layers, as transformers returns them.")(features())
right(FEATURES, "above_the_embedding", "The lowest layer, where that is claimed.", first="layer_1")(
    features(first=1)
)

# Texts and pairs ----------------------------------------------------------------------------------------------------------


def text_and_pair(register, name, says, **row):
    """Register the logits of a text, and what becomes of them for a pair."""

    def note(logits):
        register(SEQUENCE, name, says, **row)(lambda u, W, b: logits(u, W, b))
        register(PAIR, name, says, **row)(pair(logits))

    return note


def pair(logits=lambda u, W, b: u @ W + b, law=lambda logits: torch.softmax(logits, -1)):
    """Probabilities, and the logits."""

    def head(u, W, b):
        found = logits(u, W, b)
        return law(found), found.clone()

    return head


def unshifted(logits):
    """Softmax from exponentials as they are."""
    return logits.exp() / logits.exp().sum(-1, keepdim=True)


text_and_pair(wrong, "without_bias", "The bias is left out.", cause=r"\bb(\[k])? is (ignored|not added)")(
    lambda u, W, b: u @ W + 0 * b
)
text_and_pair(wrong, "bias_subtracted", "The bias is subtracted.", cause=r"\bb\S* is subtracted")(
    lambda u, W, b: u @ W - b
)
text_and_pair(wrong, "tanh_once_more", "A second tanh, as if there were no pooler.", cause=r"tanh .*\bu\b")(
    lambda u, W, b: torch.tanh(u) @ W + b
)
text_and_pair(
    wrong, "normalised_row", "The row is brought to length 1 first.", cause=r"\bu is divided by its length"
)(lambda u, W, b: F.normalize(u, dim=-1) @ W + b)
text_and_pair(
    wrong, "scaled_by_the_width", "Logits divided by √d, as scores are.", cause="(is divided by |1/)√"
)(lambda u, W, b: u @ W / u.shape[-1] ** 0.5 + b)
text_and_pair(
    wrong, "classes_reversed", "The classes from the last to the first.", cause="from its end|end along K"
)(lambda u, W, b: (u @ W + b).flip(-1))
text_and_pair(wrong, "encoder_frozen", "The row gets no gradient.", cause=r"no gradient reaches u\b")(
    lambda u, W, b: u.detach() @ W + b
)
text_and_pair(wrong, "bias_of_the_first", "One bias for all classes.", cause=r"reads b\[0|first .*\bof b\b")(
    lambda u, W, b: u @ W + b[:1]
)
text_and_pair(right, "by_products", "Products added up, the bias last.")(
    lambda u, W, b: (u[..., :, None] * W).sum(-2) + b
)
wrong(SEQUENCE, "softmax_in_the_head", "Probabilities for logits.", cause="softmax is taken of logits")(
    lambda u, W, b: torch.softmax(u @ W + b, -1)
)
wrong(PAIR, "sigmoids", "A sigmoid for each relation.", cause="sigmoid")(pair(law=torch.sigmoid))
wrong(
    PAIR,
    "softmax_over_the_batch",
    "The softmax taken over the pairs of a batch, where there are several.",
    cause="in batches",
)(pair(law=lambda logits: torch.softmax(logits, 0)))
wrong(PAIR, "without_largest", "Exponentials as they are: large logits overflow.", cause="overflows")(
    pair(law=unshifted)
)

# Tokens -------------------------------------------------------------------------------------------------------------------

wrong(TOKEN, "cls_for_all", "The row of [CLS] for all tokens.", cause=r"must not read|first row|x\[0")(
    lambda x, W, b: x[..., :1, :].expand_as(x) @ W + b
)
wrong(TOKEN, "one_late", "Each token has the answer of the one before.", cause="moved by one|off by one")(
    lambda x, W, b: x.roll(1, -2) @ W + b
)
wrong(TOKEN, "mean_row", "The mean of all rows is added to each.", cause="mean .*is added|must not read")(
    lambda x, W, b: (x + x.mean(-2, keepdim=True)) @ W + b
)
wrong(TOKEN, "token_without_bias", "The bias is left out.", cause=r"\bb(\[k])? is (ignored|not added)")(
    lambda x, W, b: x @ W + 0 * b
)
wrong(TOKEN, "token_softmax", "Probabilities for logits.", cause="softmax is taken of logits")(
    lambda x, W, b: torch.softmax(x @ W + b, -1)
)
wrong(TOKEN, "reversed_tokens", "Read from the right.", cause="end along (n|its first)")(
    lambda x, W, b: x.flip(-2) @ W + b
)
wrong(TOKEN, "first_silenced", "[CLS] has no answer: its logits are 0.", cause=r"first (row|token)|\brow 0")(
    lambda x, W, b: (x @ W + b) * (torch.arange(x.shape[-2]) > 0)[:, None]
)
wrong(
    TOKEN, "bias_of_the_text", "The bias divided among the tokens.", cause=r"\bb\S* is divided by n\b|1/n\b"
)(lambda x, W, b: x @ W + b / x.shape[-2])
wrong(TOKEN, "matrix_frozen", "The matrix gets no gradient.", cause=r"no gradient reaches W\b")(
    lambda x, W, b: x @ W.detach() + b
)
right(TOKEN, "one_token_at_a_time", "One row after the other.")(
    lambda x, W, b: torch.stack([row @ W + b for row in x.unbind(-2)], -2)
)

# Spans --------------------------------------------------------------------------------------------------------------------


def spans(kept=torch.triu, law=lambda a: torch.softmax(a, -1)):
    """Logits of beginnings and ends, and the probability of each span; right where nothing else is said."""

    def head(x, w_s, w_e):
        s, t = x @ w_s, x @ w_e
        return s, t, kept(law(s)[..., :, None] * law(t)[..., None, :])

    return head


wrong(
    SPAN, "end_before_start", "Spans that end before they begin are kept.", cause="condition .*not applied"
)(spans(lambda pairs: pairs))
wrong(SPAN, "backward_only", "Spans that end before they begin, and no others.", cause="wrong way round")(
    spans(torch.tril)
)
wrong(SPAN, "one_token_excluded", "A span of one token is left out.", cause="too few is seen")(
    spans(lambda pairs: pairs.triu(1))
)


@wrong(SPAN, via=spans, cause="renormalis|divided by (its|the) sum")
def spans_renormalised(pairs):
    """What is left is brought to sum 1."""
    kept = pairs.triu()
    return kept / kept.sum((-2, -1), keepdim=True)


wrong(SPAN, "three_at_most", "Spans of more than three tokens are left out.", cause=r"j ≤ i\+2|longer than")(
    spans(lambda pairs: pairs.triu().tril(2))
)


@wrong(SPAN, cause="in the order t, s")
def ends_exchanged(x, w_s, w_e):
    """Beginnings returned for ends, and the other way."""
    s, t, pairs = spans()(x, w_s, w_e)
    return t, s, pairs


wrong(SPAN, "span_sigmoids", "A sigmoid for each token.", cause="sigmoid")(spans(law=torch.sigmoid))
wrong(SPAN, "span_overflows", "Exponentials as they are: large logits overflow.", cause="overflows")(
    spans(law=unshifted)
)


@wrong(SPAN, cause=r"wrong axis|exp\(t")
def over_the_ends(x, w_s, w_e):
    """The softmax over beginning and end at each token."""
    both = torch.stack((x @ w_s, x @ w_e), -1)
    p, q = torch.softmax(both, -1).unbind(-1)
    s, t = both.unbind(-1)
    return s.clone(), t.clone(), (p[..., :, None] * q[..., None, :]).triu()


wrong(SPAN, "one_vector", "One vector for beginnings and ends.", cause="w_e is ignored|reads w_s where w_e")(
    lambda x, w_s, w_e: spans()(x, w_s, w_s + 0 * w_e)
)
right(SPAN, "by_outer", "The outer product, its upper half.")(spans())


@right(SPAN)
def by_scores(x, w_s, w_e):
    """From the logarithms: the sum of two log-probabilities, exponentiated."""
    s, t = x @ w_s, x @ w_e
    log_p, log_q = s.log_softmax(-1), t.log_softmax(-1)
    return s, t, (log_p[..., :, None] + log_q[..., None, :]).exp().triu()


# Hidden words -------------------------------------------------------------------------------------------------------------


def words(hidden=lambda x, W, b: F.gelu(x @ W + b), norm=F.layer_norm, table=lambda E: E, bias=lambda b: b):
    """The logits of hidden words, right where nothing else is said."""

    def head(x, W, b, gamma, beta, eps, E, b_V):
        return norm(hidden(x, W, b), x.shape[-1:], gamma, beta, eps) @ table(E).mT + bias(b_V)

    return head


def by_tanh(x, W, b):
    """The layer with GELU by tanh."""
    return F.gelu(x @ W + b, approximate="tanh")


wrong(
    WORDS,
    "layer_left_out",
    "Rows of the encoder are normalised and compared as they are.",
    cause=r"\bW, b are ignored|reads x where",
)(words(lambda x, W, b: x + 0 * (W.sum() + b)))
wrong(
    WORDS, "without_word_bias", "The bias of the words is left out.", cause=r"b_V\S* is (ignored|not added)"
)(words(bias=lambda b_V: 0 * b_V))
wrong(WORDS, "eps_1e5", "An ε of 10⁻⁵, whatever is asked.", cause="eps is ignored|fixed at 1e-05")(
    words(norm=lambda h, d, gamma, beta, eps: F.layer_norm(h, d, gamma, beta, 1e-5))
)
wrong(
    WORDS,
    "not_normalised",
    "Gain and bias without the normalization.",
    cause=r"not divided by √\(σ|μ\S* is not subtracted",
)(words(norm=lambda h, d, gamma, beta, eps: h * gamma + beta))
wrong(WORDS, "relu_for_gelu", "max(0, ·) for GELU.", cause="is ReLU of")(
    words(lambda x, W, b: torch.relu(x @ W + b))
)
wrong(WORDS, "tanh_for_gelu", "tanh for GELU, as the pooler has it.", cause="is tanh of")(
    words(lambda x, W, b: torch.tanh(x @ W + b))
)
wrong(WORDS, "gelu_by_tanh", "GELU by tanh.", cause="GELU by tanh")(words(by_tanh))
wrong(WORDS, "no_activation", "No activation.", cause="no activation")(words(lambda x, W, b: x @ W + b))
wrong(WORDS, "table_detached", "The table gets no gradient from the head.", cause=r"no gradient reaches E\b")(
    words(table=lambda E: E.detach())
)
right(WORDS, "in_one_go", "As transformers has it.")(words())
right(WORDS, "tanh_claimed", "GELU by tanh, where that is claimed.", approximation="tanh")(words(by_tanh))
wrong(
    WORDS, "bias_before_the_norm", "The layer's bias comes behind its activation.", cause="added to a, but"
)(words(lambda x, W, b: F.gelu(x @ W) + b))
