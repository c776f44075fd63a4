"""Transformer-XL: from the tokens of a segment and what is remembered to the last hidden states, and what to remember next.

Inputs: the tokens; the memory, for each layer what it read before; the table of tokens; the parameters of transformer_xl.layer,
each with one axis more in front, its layer; ε; which rows, memory first, each token may attend to, of those up to its own place.
Outputs: the last hidden states, and the memory for the segment that follows.
"""

from dataclasses import replace

from spec.embedding.token import token
from spec.positional.layout import LAYOUT
from spec.positional.sinusoidal import sinusoidal
from spec.transformer.parts import WIDTHS, L, V, d_model, epsilon, n
from spec.transformer_xl.layer import COUNT, ONE_TOKEN, layer
from spec.transformer_xl.parts import CONVENTIONS, MEMORY, M, weights
from spec.transformer_xl.parts import ZERO as OF_LAYERS
from spec.vocabulary import *

m = M + n
i, j, d, l, p, t, o, v = indices(i=n, j=m, d=M, l=d_model, p=m, t=L, o=L + 1, v=V)

ids = data("ids", n, domain="integer", below=V, meaning="the segment: which token stands at each place")
memory = data(
    "memory",
    L,
    M,
    d_model,
    meaning="for each layer what it read before the segment, one row for each token, the oldest first",
)
E = parameter("E", V, d_model, meaning="table: one learned vector for each token")
LAYERS = weights(L)
eps = epsilon()
mask = optional_mask(
    "mask",
    n,
    m,
    meaning="which rows, of memory and segment, each token may attend to, of those up to its own place",
)
R = tensor(
    "R",
    m,
    d_model,
    meaning="distances: waves for each, from the oldest row of the memory to a token's own place",
)
H = tensor("H", L + 1, n, d_model, meaning="the tokens after so many layers; 0 is their vectors")
y = tensor("y", n, d_model, meaning="last hidden states: what the next token is predicted from")
kept = tensor(
    "kept",
    L,
    M,
    d_model,
    meaning="the memory of the next segment: for each layer the last M rows that it has read",
)


def own(t: object) -> tuple[Comprehension, ...]:
    """The parameters of layer t."""
    return tuple(part[t] for part in LAYERS)


SMALL = {
    "ids": [0],
    "memory": [[["sqrt(2)", 0]]],
    "E": [[0, 1], [1, 0]],
    **{name: [value] for name, value in ONE_TOKEN.items() if name not in ("x", "memory", "R", "eps")},
    "W_r": [[[[0], [0]]]],
    "W_1": [[[0], [0]]],
    "eps": 3,
}

model = Formula(
    "transformer_xl.model",
    "Transformer-XL",
    why="How is a book read, if only a page of it fits? Segment by segment, each layer remembering what it read before. In "
    "training that is one page more for the price of its keys and values; with every layer what a word can know of reaches "
    "farther back, past the memory itself. When a text is judged word by word, a model without memory has to read the whole "
    "context anew for each word, if none is to begin with nothing before it; here it is read once.",
    sizes={n: "tokens of the segment", **MEMORY, V: "vocabulary", L: "layers", **WIDTHS},
    inputs=(ids, memory, E, *LAYERS, eps, mask),
    lines=(
        define(R[p, l], sinusoidal(m, d_model)[m - 1 - p, l]),
        define(H[0, i, l], sqrt(d_model) * token(ids, E)[i, l]),
        define(H[t], layer(H[t - 1], memory[t - 1], R, *own(t - 1), eps, mask), (t, 1, L)),
        define(y[i, l], H[L, i, l]),
        define(kept[t, d, l], stopped(case(lt(d + n, M), memory[t, d + n, l], H[t, d + n - M, l]))),
    ),
    outputs=(y, kept),
    conventions=(replace(LAYOUT, default="concatenated"), *CONVENTIONS),
    stored=("H", "y"),
    pitfalls=(
        pitfall(
            "the memory detached too late: the gradient of a segment goes back through all before it",
            mutant="kept_learns",
        ),
        pitfall("the newest rows of the memory dropped where the oldest should be", mutant="oldest_kept"),
        pitfall(
            "distances counted from the oldest row, not back from the token", mutant="distances_counted_up"
        ),
        pitfall("embeddings not multiplied by √d_model", mutant="not_scaled_by_width"),
        pitfall("what a layer returned remembered instead of what it read", mutant="layers_shifted"),
        pitfall("sines and cosines interleaved, as in the Transformer", convention="layout"),
    ),
    sources=(
        paper("dai2019", "sections 3.2 and 3.3"),
        paper("vaswani2017", "section 3.5: the waves; section 3.4: embeddings times √d_model"),
    ),
    worked=(
        Worked(
            "Token 0, √2·(0, 1), and a memory of √2·(1, 0), which weighs as much: it gathers half of 4·√2, and "
            "(2·√2, √2) is normalised: half their difference is √2/2, and √(1/2 + 3) divides it",
            SMALL,
            [["0.2132", "-0.2132"]],
            4,
        ),
        Worked(
            "With a memory of one row the token itself is what the layer remembers next",
            SMALL,
            [[["0.0000", "1.4142"]]],
            4,
            output="kept",
        ),
    ),
    notes="Logits are products of y with the rows of E, and a bias. A first segment has no memory: hide its rows by the mask. "
    "The original code begins with a memory of length 0, that of pytorch-transformers with rows of zeros, which are attended to.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

ZERO = {"layout": "concatenated", **OF_LAYERS}
rows, extra, fewer = sizes("rows extra fewer")
first = (i, rows)
top = "the last hidden states are those after the top layer"
g_kept = given("g_kept", L, M, d_model)
whole = model(ids, memory, E, *LAYERS, eps, mask)
alone = model(ids[:rows], memory, E, *LAYERS, eps, mask[:rows, : M + rows])

of_layer = layer(whole.output(H)[o], memory[o], whole.output(R), *own(o), eps, mask)

model.theorem(
    "prefix",
    "What a token becomes, in every layer, does not depend on those after it: a segment cut short gives and remembers the same",
    claim(alone.output(H)[o, i, l], "=", H[o, i, l], first, o, l).by_induction(
        o,
        last=L,
        base=derive().because("a token's vector is looked up by itself"),
        step=derive()
        .citing("prefix", of_layer, rows=rows, extra=extra)
        .because("it does not in a layer, and the tokens before are the same below it"),
    ),
    sizes={n: rows + extra},
    conventions=ZERO,
)

segment = slice(extra, extra + rows)
all_read = each(case(lt(j, M), memory[t, j, l], whole.output(H)[t, j - M, l]), t, (j, M + extra), l)
tail = model(ids[segment], all_read, E, *LAYERS, eps, mask[segment, : M + extra + rows])

model.theorem(
    "segments",
    "A segment that remembers all that the layers read before it becomes what it becomes in one pass over the whole text",
    claim(tail[i, l], "=", y[extra + i, l], first, l)
    .by_induction(
        o,
        claim(tail.output(H)[o, i, l], "=", whole.output(H)[o, extra + i, l], first, l),
        last=L,
        base=derive().because("a token's vector is looked up by itself"),
        step=derive()
        .citing("one_pass", of_layer, rows=rows, extra=extra)
        .because(
            "a layer that remembers all that was read makes the same of the tokens, which are the same below it"
        ),
    )
    .because(top),
    sizes={n: extra + rows},
    conventions=ZERO,
)

model.theorem(
    "kept_gradient",
    "No gradient leaves through the memory that is kept, to the memory before it or to a weight: learning from a segment ends "
    "where it begins, since no layer lets one into its memory either",
    claim(whole.output(kept).pullback(g_kept, memory)[t, d, l], "=", 0).by_definition(
        "what is kept stands behind SG alone"
    ),
    claim(whole.output(kept).pullback(g_kept, E)[v, l], "=", 0).by_definition(
        "what is kept stands behind SG alone"
    ),
    given=g_kept,
    conventions=ZERO,
)

model.theorem(
    "remembered",
    "Where the memory is no longer than the segment, what is kept of a layer are the last rows that it has read: all of the "
    "memory before is forgotten",
    claim(kept[t, d, l], "=", H[t, n - M + d, l], where=le(M, n))
    .keeping(layer)
    .by_definition("no row d + n is below M"),
    conventions=ZERO,
)

lower = model(ids, memory[:fewer], E, *(part[:fewer] for part in LAYERS), eps, mask)

model.theorem(
    "another_layer",
    "One layer more is a layer that reads what those below it made, and remembers what it read",
    claim(
        layer(lower.output(H)[fewer], memory[fewer], whole.output(R), *own(fewer), eps, mask)[i, l],
        "=",
        y[i, l],
    )
    .by_induction(o, claim(lower.output(H)[o, i, l], "=", H[o, i, l], i, l), last=fewer)
    .keeping(layer)
    .because("the lower layers do not know of the top one"),
    sizes={L: fewer + 1},
    conventions=ZERO,
)

model.theorem(
    "parameters",
    "The model has V·d_model parameters beside its layers, and L times those of a layer: positions need none, however long the "
    "memory",
    claim(parameters(model), "=", V * d_model + L * COUNT).by_definition(
        "a table, and as many of each as there are layers"
    ),
    runs=False,
)
