"""A decoder step with additive attention: align with the state before, read the context, move on."""

from spec.attention.decoder import FULLY_MASKED, POLARITY, context, prove_about_annotations
from spec.attention.masks import OURS
from spec.attention.softmax import softmax
from spec.scores.additive import additive
from spec.vocabulary import *

m, d, p, e, a = sizes("m d p e a")
i, j, b, l, k, f = indices(i=1, j=m, b=d, l=d, k=p, f=e)

s = data("s", d, meaning="the decoder's state before the step: what it has written so far")
y = data("y", p, meaning="the word written last")
h = data("h", m, e, meaning="the annotations: for each word of the source, what the encoder says of it")
W = parameter("W", a, d + e, meaning="hidden layer of the score, over state and annotation")
v = parameter("v", a, meaning="how much each hidden unit counts in the score")
W_s = parameter("W_s", d, d, meaning="weights from the state to the state")
W_y = parameter("W_y", d, p, meaning="weights from the word to the state")
W_c = parameter("W_c", d, e, meaning="weights from the context to the state")
mask = optional_mask("mask", m, meaning="which annotations are words, and not padding")
eta = tensor("eta", m, meaning="scores: how well each annotation fits the state")
alpha = tensor("alpha", m, meaning="weights: how much of each word of the source the next word depends on")
c = tensor("c", e, meaning="the context: the annotations, weighed")
s_next = tensor("s_next", d, meaning="the decoder's state after the step")


def state(c: Tensor | Applied) -> Node:
    """Entry b of the state after a step that has read the context c."""
    return tanh(Sum(W_s[b, l] * s[l], l) + Sum(W_y[b, k] * y[k], k) + Sum(W_c[b, f] * c[f], f))


SCORED = {"s": [1], "y": [1], "h": [[1], [2]], "W": [[1, -1]]}
TWO_WORDS = SCORED | {"v": [1], "W_s": [[1]], "W_y": [[-1]], "W_c": [[1]]}

bahdanau_step = Formula(
    "attention.bahdanau_step",
    "A decoder step with additive attention",
    why="How can a decoder translate a long sentence? Reading only the encoder's last state, it has one vector for the whole "
    "source, and long sentences are lost in it. Here it looks at the source again before each word: a small network scores "
    "how well each annotation fits what has been written so far, and the step reads their weighted mean. Which word belongs "
    "to which is learned on the way; nobody has to say.",
    sizes={
        m: "words of the source",
        d: "width of the state",
        p: "width of a word",
        e: "width of an annotation",
        a: "hidden units",
    },
    inputs=(s, y, h, W, v, W_s, W_y, W_c, mask),
    lines=(
        define(eta, additive(each(s[b], i, b), h, W, v)[0]),
        define(alpha, softmax(each(eta[j], i, j), each(mask[j], i, j))[0]),
        define(c[f], context(alpha, h, mask, f)),
        define(s_next[b], state(c)),
    ),
    outputs=(s_next, c, alpha),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("c", "alpha"),
    pitfalls=(
        pitfall("aligned with the state after the step, as Luong does", mutant="new_state_aligns"),
        pitfall("[h; s] where [s; h] is meant", mutant="annotation_first"),
        pitfall("no tanh in the score: the state has no say in the weights", mutant="linear_alignment"),
        pitfall("scores of padding set to 0, a score like any other", mutant="mask_zeroes_scores"),
    ),
    sources=(
        deck(3, "recap: attention; s_i = f(s_{i−1}, y_{i−1}, c_i)"),
        deck(2, "attention scoring: additive"),
        deck(4, "additive attention"),
        paper("bahdanau2015", "section 3.1, appendix A.1.2; f is a plain unit here, theirs is gated"),
    ),
    worked=(
        Worked(
            "Scores tanh 0 and tanh (−1), then weights", TWO_WORDS, ["0.6817", "0.3183"], 4, output="alpha"
        ),
        Worked("The context: 0.6817·1 + 0.3183·2", TWO_WORDS, ["1.3183"], 4, output="c"),
        Worked("The new state: tanh (1 − 1 + 1.3183)", TWO_WORDS, ["0.8664"], 4),
    ),
    notes="The previous state s aligns, before the step: η_j scores annotation j against s, not against the state returned.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

prove_about_annotations(
    bahdanau_step,
    lambda annotations, visible: bahdanau_step(s, y, annotations, W, v, W_s, W_y, W_c, visible),
    h,
    mask,
    {s_next[b]: lambda of: state(of(c))},
)

bahdanau_step.theorem(
    "state_bounded",
    "Every entry of the new state lies strictly between -1 and 1",
    claim(-1, "<", s_next[b]).by_definition("it is a hyperbolic tangent"),
    claim(s_next[b], "<", 1).by_definition("it is a hyperbolic tangent"),
    conventions=OURS,
)
