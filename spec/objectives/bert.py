"""What BERT is pre-trained for: both losses, added."""

from spec.objectives.cross_entropy import NONE_ASKED
from spec.objectives.mlm import mlm
from spec.objectives.nsp import nsp
from spec.vocabulary import *

n, V, m = sizes("n V m")
i, l, v = indices(i=n, l=n, v=V)
k, c = indices(k=m, c=2)

s = data("s", n, V, meaning="logits: how well each word fits each place, given the corrupted text")
labels = data(
    "labels",
    n,
    domain="label",
    below=V,
    meaning="the word that stood at a place that was selected; −100 at every other place",
)
z = data(
    "z",
    m,
    2,
    meaning="logits of each pair: z[k, 0] speaks for its parts following each other, z[k, 1] against",
)
y = data(
    "y", m, domain="integer", below=2, meaning="0 where the second part is the next one, 1 where it is random"
)
L_mlm = tensor("L_mlm", meaning="mean cost of a selected place")
L_nsp = tensor("L_nsp", meaning="mean cost of a pair")
L = tensor("L", meaning="what pre-training lowers: both together")

bert = Formula(
    "objectives.bert",
    "The loss that BERT is pre-trained with",
    why="How are two tasks learned at once? Both are asked of every batch, of the same rows of the same encoder, and their "
    "losses are added as they stand: the mean over the selected places, and the mean over the pairs. Each mean is its own, so "
    "that neither the number of selected places nor that of pairs shifts the weight between the tasks. At the beginning the "
    "words weigh far more, ln V against ln 2.",
    sizes={n: "places of the batch", V: "words of the vocabulary", m: "pairs of the batch"},
    inputs=(s, labels, z, y),
    lines=(
        define(L_mlm, mlm(s, labels)),
        define(L_nsp, nsp(z, y)),
        define(L, L_mlm + L_nsp),
    ),
    outputs=(L,),
    conventions=(NONE_ASKED,),
    stored=("L_mlm", "L_nsp"),
    pitfalls=(
        pitfall("the mean of the two losses for their sum", mutant="mean_of_both"),
        pitfall("one mean over selected places and pairs together", mutant="one_mean"),
        pitfall("batches in which nothing was selected: the words' loss is 0/0", convention="none_asked"),
    ),
    sources=(
        deck(2, "MLM and NSP are trained together, minimizing a combined loss function"),
        paper("devlin2019", "appendix A.2: the sum of the mean likelihoods"),
    ),
    worked=(
        Worked(
            "Four words and a model that knows nothing: ln 4 and ln 2",
            {"s": [[0, 0, 0, 0], [3, 1, 4, 1]], "labels": [2, -100], "z": [[1, 1]], "y": [0]},
            "2.0794",
            4,
        ),
    ),
    notes="Places and pairs are those of a whole batch, taken together.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g, a, b = given("g"), given("a", n), given("b", m)
some_selected = Some(le(0, labels[l]), l)
whole = bert(s, labels, z, y)

bert.theorem(
    "gradients",
    "Each task's logits get the gradient of their own loss, as if the other were not asked",
    claim(whole.pullback(g, s)[i, v], "=", mlm(s, labels).pullback(g, "s")[i, v])
    .keeping(mlm, nsp)
    .by_definition("the derivative of the sum: the other loss does not read s"),
    claim(whole.pullback(g, z)[k, c], "=", nsp(z, y).pullback(g, "z")[k, c])
    .keeping(mlm, nsp)
    .by_definition("the derivative of the sum: the other loss does not read z"),
    given=g,
    conventions={"none_asked": "zero"},
)

bert.theorem(
    "nothing_known",
    "A model that gives all words and both answers alike costs ln V + ln 2",
    claim(bert(each(a[i], i, v), labels, each(b[k], k, c), y), "=", log(V) + log(2), where=some_selected)
    .step(
        Sum(log(V * exp(a[i])) - a[i], i, where=le(0, labels[i])) / Sum(1, i, where=le(0, labels[i]))
        + Sum(log(2 * exp(b[k])) - b[k], k) / m,
        "a sum of equal exponentials",
    )
    .because("the logarithm of a product is the sum of the logarithms, and the counts cancel"),
    given=(a, b),
)

bert.theorem(
    "none_selected",
    "Where nothing was selected, only the pairs count",
    claim(L, "=", nsp(z, y), where=~some_selected).by_definition("the loss of no selected place is 0"),
    conventions={"none_asked": "zero"},
)
