"""The loss of masked language modelling: cross entropy at the places that were selected."""

from spec.attention.softmax import softmax
from spec.objectives.cross_entropy import NONE_ASKED, cross_entropy
from spec.vocabulary import *

n, V = sizes("n V")
i, l = indices(i=n, l=n)
v, w, one = indices(v=V, w=V, one=1)

s = data("s", n, V, meaning="logits: how well each word fits each place, given the corrupted text")
labels = data(
    "labels",
    n,
    domain="label",
    below=V,
    meaning="the word that stood at a place that was selected; −100 at every other place",
)
L = tensor("L", meaning="mean cost of a selected place: what pre-training lowers")

mlm = Formula(
    "objectives.mlm",
    "The loss of masked language modelling",
    why="What is a model asked that has read a corrupted text? At the places that were selected, and nowhere else, which word "
    "stood there: minus the logarithm of the probability that it gives that word, in the mean over these places. A selected "
    "word that was left as it is counts as well, since the model is not told which ones were changed. Since six places in seven "
    "have no label, logits are needed at one place in seven only, which is most of what a large vocabulary costs.",
    sizes={n: "places of the text, or of a batch of texts", V: "words of the vocabulary"},
    inputs=(s, labels),
    lines=(define(L, cross_entropy(s, labels, lift(0))),),
    outputs=(L,),
    conventions=(NONE_ASKED,),
    pitfalls=(
        pitfall(
            "the mean taken over all places: seven times too small a loss, and a learning rate to match",
            mutant="mean_over_all_places",
        ),
        pitfall(
            "labels at all places: most of the loss asks for words in plain sight", mutant="asked_of_one_more"
        ),
        pitfall("padding counted as a target", mutant="last_place_asked"),
        pitfall("a text in which nothing was selected: 0/0 is NaN", convention="none_asked"),
        pitfall(
            "hidden words are predicted one by one, as if they did not depend on each other",
            theorem="independent",
        ),
    ),
    sources=(
        deck(0, "BERT generates predictions independently"),
        deck(2, "masked LM: the model attempts to predict the original value of the masked words"),
        deck(4, "MLM: classification head and negative log-likelihood"),
        paper("devlin2019", "section 3.1 and appendix A.1"),
    ),
    worked=(
        Worked(
            "Three places, of which the first and the last were selected: ln 2 and ln(1 + 1/e), in the mean",
            {"s": [[0, 0], [5, 1], [1, 0]], "labels": [1, -100, 0]},
            "0.5032",
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g, r = given("g"), given("r", n, V)
sigma = given("sigma", n, domain="permutation")
whole = mlm(s, labels)
p = softmax(s)
selected, some_selected = le(0, labels[i]), Some(le(0, labels[l]), l)
count = Sum(1, i, where=selected)
moved = mlm(each(s[sigma[i], v], i, v), each(labels[sigma[i]], i))
alone = mlm(each(s[i, v], one, v), each(labels[i], one))

mlm.theorem(
    "independent",
    "The probability of all hidden words is the product of theirs, each given the corrupted text: none depends on another",
    claim(-count * L, "=", Sum(log(p[i, labels[i]]), i, where=selected), where=some_selected)
    .step(
        Sum(s[i, labels[i]] - log(Sum(exp(s[i, w]), w)), i, where=selected),
        "the loss is the mean of the costs; times the count, their sum",
    )
    .because("ln(e^s/Z) = s − ln Z"),
)

mlm.theorem(
    "place_by_place",
    "It is the mean of the losses of the selected places, each taken as a text of its own",
    claim(L, "=", Sum(alone, i, where=selected) / count, where=some_selected)
    .step(
        Sum(log(Sum(exp(s[i, w]), w)) - s[i, labels[i]], i, where=selected) / count,
        "what a word costs is ln Z − s",
    )
    .because("a text of one place, which was selected, costs what its word costs"),
)

mlm.theorem(
    "gradient",
    "The gradient at a selected place is softmax less the word that stood there, over their number; at another place 0",
    claim(whole.pullback(g, s)[i, v], "=", g * (p[i, v] - delta(v, labels[i])) / count, where=selected)
    .step(
        g / count * (exp(s[i, v]) / Sum(exp(s[i, w]), w) - delta(v, labels[i])),
        "a selected place costs ln Z − s[label], and the derivative of ln Z is e^s/Z",
    )
    .because("e^s/Z is the softmax"),
    claim(whole.pullback(g, s)[i, v], "=", 0, where=some_selected & ~selected).by_definition(
        "no line reads the logits there"
    ),
    given=g,
)

mlm.theorem(
    "unselected_without_influence",
    "Logits at places that were not selected do not matter: they need not be computed",
    claim(
        mlm(each(case(selected, s[i, v], r[i, v]), i, v), labels), "=", L, where=some_selected
    ).by_definition("no line reads the logits there"),
    given=r,
)

mlm.theorem(
    "order",
    "The order of the places does not matter: they may be gathered from a whole batch, and in any order",
    claim(moved, "=", L, where=some_selected & Some(le(0, labels[sigma[l]]), l))
    .step(
        Sum(
            log(Sum(exp(s[sigma[i], w]), w)) - s[sigma[i], labels[sigma[i]]],
            i,
            where=le(0, labels[sigma[i]]),
        )
        / Sum(1, i, where=le(0, labels[sigma[i]])),
        "place number i is now σ(i), with its label",
    )
    .because("σ reaches every place once: the same terms in another order"),
    given=sigma,
)
