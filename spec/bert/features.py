"""Features from BERT: what its layers say of each token, combined in the six ways that were compared."""

from spec.recurrent.elmo_mix import elmo_mix
from spec.vocabulary import *

K, n, d = sizes("K n d")
i, j, c, e = indices(i=n, j=n, c=d, e=d)
l, r = indices(l=K + 3, r=4)

H = data(
    "H",
    K + 4,
    n,
    d,
    meaning="what each layer says of each token: row 0 is the embedding, rows 1 to K + 3 are the layers",
)
first = tensor("first", n, d, meaning="the first row alone: a token's embedding, or the first layer above it")
last = tensor("last", n, d, meaning="what the last layer says")
second_to_last = tensor("second_to_last", n, d, meaning="what the layer before the last one says")
sum_all = tensor("sum_all", n, d, meaning="the sum of all layers, the embedding not among them")
sum_last_four = tensor("sum_last_four", n, d, meaning="the sum of the last four layers")
concat_last_four = tensor(
    "concat_last_four", n, 4 * d, meaning="the last four layers side by side, the lowest of them first"
)

FIRST = Convention(
    "first",
    {
        "embedding": "the first is the embedding, row 0, as in BERT's table",
        "layer_1": "the first is the lowest layer, row 1",
    },
    default="embedding",
)

features = Formula(
    "bert.features",
    "Features from BERT's layers",
    why="Can BERT be used without being trained further? Then the vectors of its layers serve as features, computed once, on "
    "which a small model of another kind is trained. Which layer is best? The last one has been shaped for guessing hidden "
    "words, the lowest knows little of the context; on names of persons and places, six choices were compared, and the last four "
    "side by side came within 0.3 F1 points of training the whole model.",
    sizes={K: "layers below the last three", n: "tokens", d: "width of a layer"},
    inputs=(H,),
    lines=(
        define(first[i, c], by_convention("first", embedding=H[0, i, c], layer_1=H[1, i, c])),
        define(last[i, c], H[K + 3, i, c]),
        define(sum_all[i, c], Sum(H[l + 1, i, c], l)),
        define(second_to_last[i, c], H[K + 2, i, c]),
        define(sum_last_four[i, c], Sum(H[K + r, i, c], r)),
        define(concat_last_four[i, r * d + c], H[K + r, i, c], (i, n), (r, 4), (c, d)),
    ),
    outputs=(first, last, sum_all, second_to_last, sum_last_four, concat_last_four),
    conventions=(FIRST,),
    pitfalls=(
        pitfall("the first layer: the embedding, or what the lowest layer makes of it", convention="first"),
        pitfall("the embedding counted among the layers of the sum", mutant="embedding_in_the_sum"),
        pitfall(
            "hidden states counted from the wrong end: the first four, not the last", mutant="first_four"
        ),
        pitfall("the four layers from the last down, which permutes the features", mutant="last_comes_first"),
        pitfall("a sum for a mean: the same features, L times as large", theorem="sums_are_mixes"),
    ),
    sources=(
        deck(0, "contextualized embeddings: which one should we use?"),
        deck(3, "BERT for feature extraction"),
        paper("devlin2019", "section 5.3, table 7"),
    ),
    worked=(
        Worked(
            "One token of width 1 through four layers: the sum of all four is that of the last four",
            {"H": [[[1]], [[2]], [[3]], [[5]], [[7]]]},
            [["17"]],
            0,
            output="sum_all",
        ),
        Worked(
            "Five layers: the last four, side by side",
            {"H": [[[1]], [[2]], [[3]], [[5]], [[7]], [[11]]]},
            [["3", "5", "7", "11"]],
            0,
            output="concat_last_four",
        ),
    ),
    notes="The decks print F1 on CoNLL-2003: embedding 91.0, last layer 94.9, sum of all 95.5, second-to-last 95.6, sum of the "
    "last four 95.9, last four side by side 96.1. Where K = 9 there are twelve layers, as in BERT-BASE.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

w = given("w")
H_other = given("H_other", K + 4, n, d)
changed = features(each(case(eq(j, i), H[l, j, c], H_other[l, j, c]), (l, K + 4), j, c))

features.theorem(
    "sums_are_mixes",
    "A sum of L layers is ELMo's mix with equal weights, at γ = L",
    claim(sum_all[i, c], "=", elmo_mix(each(H[l + 1, i, e], l, e), each(w, l), lift(K + 3))[c])
    .step(
        (K + 3) * Sum(exp(w) / ((K + 3) * exp(w)) * H[l + 1, i, c], l),
        "the share of each of K + 3 layers is 1/(K + 3), and L·1/L = 1",
    )
    .because("the softmax of equal weights"),
    claim(sum_last_four[i, c], "=", elmo_mix(each(H[K + r, i, e], r, e), each(w, r), lift(4))[c])
    .step(4 * Sum(exp(w) / (4 * exp(w)) * H[K + r, i, c], r), "the share of each of four layers is 1/4")
    .because("the softmax of equal weights"),
    given=w,
)

features.theorem(
    "blocks",
    "Side by side nothing is lost: block r is layer K + r, the last block the last layer, and the blocks' sum that of the layers",
    claim(concat_last_four[i, r * d + c], "=", H[K + r, i, c]).by_definition("so it is defined"),
    claim(concat_last_four[i, 3 * d + c], "=", last[i, c]).by_definition("block 3 is the last layer"),
    claim(concat_last_four[i, 2 * d + c], "=", second_to_last[i, c]).by_definition(
        "block 2 is the one before"
    ),
    claim(Sum(concat_last_four[i, r * d + c], r), "=", sum_last_four[i, c])
    .step(Sum(H[K + r, i, c], r), "block r is layer K + r")
    .because("so the sum is defined"),
)

features.theorem(
    "one_token",
    "A token's features are read from its own column: other tokens count only through the layers",
    claim(changed[i, c], "=", first[i, c]).by_definition("only entries of token i are read"),
    claim(changed.output(sum_all)[i, c], "=", sum_all[i, c]).by_definition(
        "only entries of token i are read"
    ),
    claim(changed.output(concat_last_four)[i, r * d + c], "=", H[K + r, i, c]).by_definition(
        "only entries of token i are read"
    ),
    given=H_other,
)
