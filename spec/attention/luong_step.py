"""A decoder step with dot-product attention: move on, align with the new state, join state and context, name a word."""

from spec.attention.decoder import FULLY_MASKED, POLARITY, context, prove_about_annotations
from spec.attention.masks import OURS
from spec.attention.softmax import softmax
from spec.scores.dot import dot
from spec.vocabulary import *

m, d, p, V = sizes("m d p V")
i, j, b, l, k, w, v = indices(i=1, j=m, b=d, l=d, k=p, w=V, v=V)

s = data("s", d, meaning="the decoder's state before the step")
y = data("y", p, meaning="the word written last")
h = data("h", m, d, meaning="the annotations: for each word of the source, the encoder's state")
W_s = parameter("W_s", d, d, meaning="weights from the state to the state")
W_y = parameter("W_y", d, p, meaning="weights from the word to the state")
W_c = parameter("W_c", d, 2 * d, meaning="joins context and state: its first d columns act on the context")
W_o = parameter("W_o", V, d, meaning="one row for each word: what a state that asks for it looks like")
mask = optional_mask("mask", m, meaning="which annotations are words, and not padding")
s_next = tensor("s_next", d, meaning="the decoder's state after the step")
eta = tensor("eta", m, meaning="scores: how well each annotation fits the new state")
alpha = tensor("alpha", m, meaning="weights: how much of each word of the source the next word depends on")
c = tensor("c", d, meaning="the context: the annotations, weighed")
h_tilde = tensor("h_tilde", d, meaning="attentional state: state and context joined")
o = tensor("o", V, meaning="logits: how well each word of the vocabulary fits")
P = tensor("P", V, meaning="the probability of each word of the vocabulary to come next")

moved = tanh(Sum(W_s[b, l] * s[l], l) + Sum(W_y[b, k] * y[k], k))


def joined(c: Tensor | Applied, s_next: Tensor | Applied) -> Node:
    """Entry b of h̃."""
    return tanh(Sum(W_c[b, l] * c[l], l) + Sum(W_c[b, d + l] * s_next[l], l))


def share(o: Tensor | Applied) -> Node:
    """The probability of word w."""
    return softmax(each(o[w], i, w))[0, w]


SCORED = {"s": [0], "y": [1], "h": [[1], [0]], "W_s": [[1]]}
TWO_WORDS = SCORED | {"W_y": [[1]], "W_c": [[1, 1]], "W_o": [[1], [0]]}

luong_step = Formula(
    "attention.luong_step",
    "A decoder step with dot-product attention: the recipe in seven steps",
    why="How does a decoder come from the source to the next word, in one recipe? Alignment need not be a network of its own: "
    "where state and annotations live in one space, a dot product scores them, and that is one matrix product for all words. "
    "The step moves on first and aligns with its new state; context and state side by side go through one more layer, and a "
    "softmax over the vocabulary names the word.",
    sizes={
        m: "words of the source",
        d: "width of a state",
        p: "width of a word",
        V: "words of the vocabulary",
    },
    inputs=(s, y, h, W_s, W_y, W_c, W_o, mask),
    lines=(
        define(s_next[b], moved),
        define(eta, dot(each(s_next[b], i, b), h)[0]),
        define(alpha, softmax(each(eta[j], i, j), each(mask[j], i, j))[0]),
        define(c[b], context(alpha, h, mask, b)),
        define(h_tilde[b], joined(c, s_next)),
        define(o[w], Sum(W_o[w, l] * h_tilde[l], l)),
        define(P[w], share(o)),
    ),
    outputs=(s_next, h_tilde, P, alpha),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("c", "alpha"),
    pitfalls=(
        pitfall("aligned with the state before the step, as Bahdanau does", mutant="old_state_aligns"),
        pitfall("[s; c] where [c; s] is meant", mutant="state_first"),
        pitfall("scores divided by √d, as in the Transformer", mutant="scaled_scores"),
        pitfall("annotations of padding set to 0: they still get weight", mutant="zeros_for_padding"),
    ),
    sources=(
        deck(0, "the attention decoder in seven steps: from scores to the word"),
        paper("luong2015", "section 3, eq. 5 and 6; section 3.1, dot score"),
    ),
    worked=(
        Worked("The new state: tanh (0 + 1)", TWO_WORDS, ["0.7616"], 4),
        Worked("Scores 0.7616 and 0, then weights", TWO_WORDS, ["0.6817", "0.3183"], 4, output="alpha"),
        Worked("Joined: tanh (0.6817 + 0.7616)", TWO_WORDS, ["0.8944"], 4, output="h_tilde"),
        Worked("Two words with logits 0.8944 and 0", TWO_WORDS, ["0.7098", "0.2902"], 4, output="P"),
    ),
    notes="The new state s_next aligns, after the step; then [c; s_next] is fed forward. With input feeding, y holds h̃ of the "
    "step before, too.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

prove_about_annotations(
    luong_step,
    lambda annotations, visible: luong_step(s, y, annotations, W_s, W_y, W_c, W_o, visible),
    h,
    mask,
    {
        s_next[b]: lambda of: moved,
        h_tilde[b]: lambda of: joined(of(c), of(s_next)),
        P[w]: lambda of: share(of(o)),
    },
)

luong_step.theorem(
    "state_bounded",
    "Every entry of the new state and of h̃ lies strictly between -1 and 1",
    *(
        bound.by_definition("it is a hyperbolic tangent")
        for state in (s_next, h_tilde)
        for bound in (claim(-1, "<", state[b]), claim(state[b], "<", 1))
    ),
    conventions=OURS,
)

luong_step.theorem(
    "words_sum_to_one",
    "The probabilities of all words sum to 1, and none is negative",
    claim(Sum(P[w], w), "=", 1)
    .step(Sum(exp(o[w]), w) / Sum(exp(o[v]), v), "the definition; the denominator does not depend on w")
    .because("a sum of exponentials over at least one word is positive, so it cancels"),
    claim(0, "<=", P[w]).by_definition("a quotient of exponentials is positive", gap=P[w]),
    conventions=OURS,
)
