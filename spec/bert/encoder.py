"""BERT's encoder: from the ids of tokens to their last hidden states.

Inputs: tokens, segments and positions; their tables; gain and bias of the embedding; the parameters of bert.layer, each with one
axis more in front, its layer; ε; which tokens are words.
"""

from spec.bert.layer import ONE_HEAD, layer
from spec.bert.weights import ZERO, weights
from spec.embedding.bert import bert
from spec.transformer.parts import NORM, WIDTHS, L, V, d_ff, d_k, d_model, d_v, epsilon, h, n, normalization
from spec.vocabulary import *

K, N = sizes("K N")
i, j, k, l, t, u = indices(i=n, j=n, k=n, l=d_model, t=L, u=L + 1)

ids = data("ids", n, domain="integer", below=V, meaning="which token stands at each place")
seg = data(
    "seg", n, domain="integer", below=K, meaning="which segment each belongs to: 0 the first, 1 the second"
)
pos = data("pos", n, domain="integer", below=N, meaning="where each token stands: 0, 1, 2, … in BERT")
E = parameter("E", V, d_model, meaning="table: one learned vector for each token of the vocabulary")
S = parameter("S", K, d_model, meaning="table: one learned vector for each segment")
P = parameter("P", N, d_model, meaning="table: one learned vector for each position")
EMBEDDING = (E, S, P, *normalization(0, "embedding"))
LAYERS = weights(L)
WEIGHTS = (*EMBEDDING, *LAYERS)
eps = epsilon()
mask = optional_mask("mask", n, meaning="which tokens are words, and not padding")
H = tensor(
    "H", L + 1, n, d_model, meaning="hidden states: the tokens after so many layers; 0 is the embedding"
)
y = tensor("y", n, d_model, meaning="last hidden states: the tokens after all layers")


def own(t: object) -> tuple[Comprehension, ...]:
    """The parameters of layer t."""
    return tuple(part[t] for part in LAYERS)


SMALL = {
    "ids": [1, 0],
    "seg": [0, 0],
    "pos": [0, 1],
    "E": [[0, 0], [1, 0]],
    "S": [[0, 0]],
    "P": [[0, 0], [0, 0]],
    "gamma_0": [1, 1],
    "beta_0": [0, 0],
    **{name: [value] for name, value in ONE_HEAD.items() if name not in ("x", "eps")},
    "eps": "3/4",
}

encoder = Formula(
    "bert.encoder",
    "BERT's encoder",
    why="How can one model serve every task of language? What a word means depends on both its sides, and few tasks come with "
    "enough labelled text to learn that. BERT is a stack of the Transformer's encoder layers, twelve in the base model and "
    "twenty-four in the large one, over an embedding of tokens, segments and positions. It was trained on plain text to fill "
    "gaps, which a model that reads in both directions can be asked to do, and to tell whether two sentences follow each "
    "other. What it returns is a vector for each token in the light of all the others; a task adds a layer and trains on.",
    sizes={
        n: "tokens",
        V: "vocabulary: the tokens there are",
        K: "segments there are: two in BERT",
        N: "longest sequence: 512 in BERT",
        L: "layers: 12 in the base model, 24 in the large one",
        **WIDTHS,
    },
    inputs=(ids, seg, pos, *WEIGHTS, eps, mask),
    lines=(
        define(H[0], bert(ids, seg, pos, *EMBEDDING, eps)),
        define(H[t], layer(H[t - 1], *own(t - 1), eps, each(mask[k], i, k)), (t, 1, L)),
        define(y, H[L]),
    ),
    outputs=(y,),
    conventions=tuple(c for c in layer.conventions if c is not NORM),
    stored=("H",),
    pitfalls=(
        pitfall("padding not hidden: a sentence's vectors depend on its batch", mutant="padding_seen"),
        pitfall(
            "padding on the left, positions counted from it all the same", theorem="permutation_equivariant"
        ),
        pitfall("the rows of the two segments exchanged", mutant="segments_exchanged_below"),
        pitfall("one layer's weights in all layers, as ALBERT has them", mutant="one_layer_for_all"),
        pitfall(
            "the embedding not normalised: the first layer reads rows of any scale",
            mutant="embedding_as_it_is",
        ),
        pitfall("GELU's form with tanh in its place", convention="approximation"),
    ),
    sources=(
        deck(0, "BERT: encoder (BERT-base)"),
        deck(1, "the less obvious way: BERT"),
        deck(2, "BERT (Bidirectional Encoder Representations from Transformers)"),
        deck(3, "BERT-base, BERT-large"),
        deck(4, "BERT uses the encoder-only Transformer"),
        paper("devlin2019", "section 3"),
    ),
    worked=(
        Worked(
            "Two tokens in a layer of one head: their embeddings, (1, 0) and (0, 0), are (1/2, −1/2) and 0 when normalised",
            SMALL,
            [[["0.5000", "-0.5000"], ["0.0000", "0.0000"]], [["0.7788", "-0.7788"], ["0.6275", "-0.6275"]]],
            4,
            output="H",
        ),
    ),
    notes="The base model has L = 12, d_model = 768, h = 12, d_ff = 3,072, the large one L = 24, d_model = 1,024, h = 16, "
    "d_ff = 4,096; both have V = 30,522, N = 512, K = 2 and d_k = d_v = 64. Their embeddings have 23,837,184 and 31,782,912 "
    "parameters, a layer 7,087,872 and 12,596,224. H holds the hidden states of all layers, as bert.features reads them.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

pi, ids_other = given("pi", n, domain="permutation"), given("ids_other", n, domain="integer", below=V)
rows, extra, fewer = sizes("rows extra fewer")
everyone = each(mask[j], i, j)
top = "the top layer is one of the layers"

permuted = encoder(
    each(ids[pi[i]], i), each(seg[pi[i]], i), each(pos[pi[i]], i), *WEIGHTS, eps, each(mask[pi[i]], i)
)

encoder.theorem(
    "permutation_equivariant",
    "Permuting the tokens, with their segments, positions and what is padding, permutes the outputs: only positions tell order, "
    "so that padding may stand anywhere as long as words keep theirs",
    claim(permuted[i, l], "=", y[pi[i], l])
    .by_induction(
        u,
        claim(permuted.output(H)[u, i, l], "=", H[u, pi[i], l], i, l),
        last=L,
        base=derive()
        .citing("permutation_equivariant", bert(ids, seg, pos, *EMBEDDING, eps), pi=pi)
        .because("each row of the embedding is made of what stands at its own place"),
        step=derive()
        .citing("permutation_equivariant", layer(H[u], *own(u), eps, everyone), pi=pi)
        .because("a layer is permutation equivariant"),
    )
    .because(top),
    given=pi,
    conventions=ZERO,
)

changed = encoder(each(case(mask[k], ids[k], ids_other[k]), k), seg, pos, *WEIGHTS, eps, mask)
whole = encoder(ids, seg, pos, *WEIGHTS, eps, mask)

encoder.theorem(
    "padding",
    "Which tokens stand where padding is has no influence on the words",
    claim(changed[i, l], "=", whole[i, l], where=mask[i])
    .by_induction(
        u,
        claim(changed.output(H)[u, i, l], "=", whole.output(H)[u, i, l], i, l, where=mask[i]),
        last=L,
        base=derive().because("each row of the embedding is made of what stands at its own place"),
        step=derive()
        .citing("padding", layer(changed.output(H)[u], *own(u), eps), real=mask)
        .citing("padding", layer(whole.output(H)[u], *own(u), eps), real=mask)
        .because("it has none in a layer, and what the words are is the same below it"),
    )
    .because(top),
    given=ids_other,
    conventions=ZERO,
)

padded = encoder(ids, seg, pos, *WEIGHTS, eps, each(mask[k] & lt(k, rows), k))
alone = encoder(ids[:rows], seg[:rows], pos[:rows], *WEIGHTS, eps, mask[:rows])

encoder.theorem(
    "unpadded",
    "Padding behind a text changes nothing: its tokens become what they become without it",
    claim(padded[i, l], "=", alone[i, l], (i, rows), l)
    .by_induction(
        u,
        claim(padded.output(H)[u, i, l], "=", alone.output(H)[u, i, l], (i, rows), l),
        last=L,
        base=derive()
        .citing("prefix", bert(ids, seg, pos, *EMBEDDING, eps), rows=rows, extra=extra)
        .because("the rows of the first tokens are those of the first tokens alone"),
        step=derive()
        .citing("unpadded", layer(padded.output(H)[u], *own(u), eps, everyone), rows=rows, extra=extra)
        .because("in a layer it changes nothing, and what the words are is the same below it"),
    )
    .because(top),
    sizes={n: rows + extra},
    conventions=ZERO,
)

encoder.theorem(
    "order_matters",
    "The order of the words counts: the same words in another order, at the same positions, are more than the same vectors in "
    "another order",
    claim(
        encoder(each(ids[n - 1 - k], k), seg, pos, *WEIGHTS, eps)[i, l],
        "=",
        encoder(ids, seg, pos, *WEIGHTS, eps)[n - 1 - i, l],
    ).by_witness(n=2, **SMALL | {"P": [[0, 0], [0, 1]], "eps": 1}),
    exists=True,
    runs=False,
    conventions=ZERO,
)

deep = encoder(ids, seg, pos, *WEIGHTS, eps, mask)
lower = encoder(ids, seg, pos, *EMBEDDING, *(part[:fewer] for part in LAYERS), eps, mask)

encoder.theorem(
    "another_layer",
    "One layer more is a layer that reads what the encoder below returns",
    claim(layer(lower.whole(), *own(fewer), eps, everyone)[i, l], "=", deep[i, l])
    .by_induction(u, claim(lower.output(H)[u, i, l], "=", deep.output(H)[u, i, l], i, l), last=fewer)
    .keeping(layer, bert)
    .because("the lower layers do not know of the top one"),
    sizes={L: fewer + 1},
    conventions=ZERO,
)

COUNT = (V + K + N + 2) * d_model + L * (
    h * (d_model + 1) * (2 * d_k + d_v) + (h * d_v + 1) * d_model + 2 * d_model * d_ff + d_ff + 5 * d_model
)

encoder.theorem(
    "parameters",
    "The encoder has (V + K + N + 2)·d_model parameters in its embedding, and L times those of a layer",
    claim(parameters(encoder), "=", COUNT).by_definition("the sizes of the tables and of the layers"),
    runs=False,
)
