"""What a layer costs: self-attention, recurrence and convolution over the same sequence.

An operation is a multiplication with the addition that goes with it. Those of the matrix products are counted, and nothing
else: softmax, activations, biases and residual sums grow more slowly.
"""

from spec.vocabulary import *

n, d, k = sizes("n d k")
i, j, c, e, u = indices(i=n, j=n, c=d, e=d, u=k)

PROJECTIONS = Convention(
    "projections",
    {
        "none": "of self-attention the two products without weights: queries with keys, weights with values",
        "counted": "and the four with weights, which make queries, keys, values and the output",
    },
    default="none",
)

attention = tensor("attention", domain="positive", meaning="operations of self-attention")
recurrence = tensor("recurrence", domain="positive", meaning="operations of a recurrent layer")
convolution = tensor("convolution", domain="positive", meaning="operations of a convolution")
steps = tensor(
    "steps",
    3,
    domain="positive",
    meaning="steps that wait for each other: in attention, recurrence, convolution",
)
path = tensor(
    "path", 3, domain="nonnegative", meaning="steps or layers between the first place and the last, in each"
)
compared = 2 * lift(n) ** 2 * d
COUNTED = {"projections": "counted"}

cost = Formula(
    "transformer.cost",
    "Cost of a layer",
    why="Why attention in place of recurrence? Three things count. Operations: each kind of layer mixes n rows of d entries, but "
    "attention compares all pairs of rows, while the others multiply every row by matrices, so that sentences, which are "
    "shorter than a row is wide, are cheap for attention and long texts are not. Steps: what has to wait for what came "
    "before cannot run side by side, however much hardware there is. Paths: the fewer steps lie between two words, the "
    "more easily is learned what one has to do with the other.",
    sizes={n: "places of the sequence", d: "width of a row", k: "width of a convolution's kernel"},
    inputs=(n, d, k),
    lines=(
        define(
            attention,
            by_convention("projections", none=compared, counted=compared + 4 * n * lift(d) ** 2),
        ),
        define(recurrence, 2 * n * lift(d) ** 2),
        define(convolution, k * n * lift(d) ** 2),
        define(steps[0], 1),
        define(steps[1], n),
        define(steps[2], 1),
        define(path[0], 1),
        define(path[1], n),
        define(path[2], case(lt(1, k), 1 + case(lt(1, n), floor((n - 2) / (k - 1))))),
    ),
    outputs=(attention, recurrence, convolution, steps, path),
    conventions=(PROJECTIONS,),
    pitfalls=(
        pitfall(
            "projections left out where whole layers are compared: with them attention never has fewer operations than a "
            "recurrent layer",
            theorem="with_projections",
        ),
        pitfall(
            "heads multiplied: h heads of width d/h cost as much as one of width d",
            mutant="width_in_each_head",
        ),
        pitfall("a multiply-add counted as two, as counters of FLOPs do", mutant="flops"),
        pitfall("of the two products of attention one forgotten", mutant="one_product"),
        pitfall("a convolution thought to reach all places at once", mutant="one_layer_suffices"),
    ),
    sources=(
        deck(0, "self-attention is quadratic in the length of the sequence"),
        deck(1, "training of recurrent networks is sequential"),
        deck(2, "self-attention beside convolution and recurrence"),
        deck(4, "computation over tokens is sequential; long dependencies"),
        paper("vaswani2017", "section 4, table 1"),
    ),
    worked=(
        Worked(
            "A sentence of 32 words, 512 wide: 2·32²·512 operations",
            {"n": 32, "d": 512, "k": 3},
            "1048576",
            0,
        ),
        Worked("With projections", {"n": 32, "d": 512, "k": 3}, "34603008", 0, conventions=COUNTED),
        Worked(
            "Recurrence: 2·32·512², sixteen times as many",
            {"n": 32, "d": 512, "k": 3},
            "16777216",
            0,
            output="recurrence",
        ),
        Worked(
            "A convolution of width 3: half as many again",
            {"n": 32, "d": 512, "k": 3},
            "25165824",
            0,
            output="convolution",
        ),
        Worked(
            "From the first of 32 words to the last: one layer of attention, 32 steps, or a stack of ⌈31/2⌉ convolutions",
            {"n": 32, "d": 512, "k": 3},
            ["1", "32", "16"],
            0,
            output="path",
        ),
    ),
    notes="A recurrent layer takes two products for each place, one of the row and one of the state; an LSTM cell, which has "
    "three gates and a candidate, four times as many. A convolution is padded to n places, and the padding is counted; its path "
    "is that of a stack in which each layer sees a place and the k − 1 before it, which n − 1 places back takes "
    "⌈(n − 1)/(k − 1)⌉ layers, and one where there is nothing further back. 0 stands where there is no path: a kernel of "
    "width 1 joins no two places. With gaps that grow k-fold from layer to layer "
    "⌈log n / log k⌉ layers suffice. Causal attention is counted in full, as it is computed.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

h, d_k, more, r, rest, below = sizes("h d_k more r rest below")
ALONE = {"projections": "none"}

cost.theorem(
    "counted",
    "Operations are the products in the sums: one for each pair of places and entry, twice; one for each place and weight",
    claim(attention, "=", Sum(1, i, j, c) + Sum(1, i, j, c)).by_definition(
        "a query and a key are multiplied entry by entry, and a weight with each entry of a value"
    ),
    claim(recurrence, "=", Sum(1, i, c, e) + Sum(1, i, c, e)).by_definition(
        "the row and the state are each multiplied by a matrix"
    ),
    claim(convolution, "=", Sum(1, i, u, c, e)).by_definition("k rows are, each by a matrix of its own"),
    conventions=ALONE,
)

cost.theorem(
    "heads",
    "Heads need no more multiplications: h of width d_k have together those of one of width h·d_k. (Each has a softmax of its "
    "own, which is not counted.)",
    claim(h * cost(n, d_k, k), "=", attention)
    .step(h * (2 * lift(n) ** 2 * d_k), "the definition, for each head")
    .because("the width enters once"),
    sizes={d: h * d_k},
    conventions=ALONE,
)

cost.theorem(
    "difference",
    "Self-attention has 2·n·d·(n − d) operations more than recurrence: as many where n = d, which is where they cross",
    claim(attention - recurrence, "=", 2 * n * d * (lift(n) - d)).by_definition("2·n·d taken out"),
    conventions=ALONE,
)

cost.theorem(
    "shorter",
    "Self-attention has fewer operations than recurrence where the sequence is shorter than a row is wide",
    claim(attention, "<", recurrence)
    .step(2 * n * d * lift(n), "the definition")
    .because("n < d, and 2·n·d is positive", gap=2 * n * d * lift(more)),
    sizes={d: n + more},
    conventions=ALONE,
)

cost.theorem(
    "longer",
    "And has more where it is longer",
    claim(recurrence, "<", attention)
    .step(2 * n * d * lift(d), "the definition")
    .because("d < n, and 2·n·d is positive", gap=2 * n * d * lift(more)),
    sizes={n: d + more},
    conventions=ALONE,
)

cost.theorem(
    "with_projections",
    "With its projections self-attention always has more operations than recurrence, by 2·n·d·(n + d)",
    claim(attention - recurrence, "=", 2 * n * d * (lift(n) + d)).by_definition(
        "four products with weights against two, and the two without"
    ),
    claim(recurrence, "<", attention)
    .step(attention - 2 * n * d * (lift(n) + d), "the difference, as above")
    .because("it is positive"),
    conventions=COUNTED,
)

cost.theorem(
    "four_gates",
    "With its projections it has 2·n·d·(2·d − n) fewer than an LSTM cell: they cross at n = 2·d",
    claim(4 * recurrence - attention, "=", 2 * n * d * (2 * lift(d) - n)).by_definition(
        "eight products with weights against four"
    ),
    conventions=COUNTED,
)

cost.theorem(
    "against_convolution",
    "A convolution has k/2 times the operations of recurrence, and n·d·(k·d − 2·n) more than self-attention",
    claim(2 * convolution, "=", k * recurrence).by_definition("k products for each place against two"),
    claim(convolution - attention, "=", n * d * (k * lift(d) - 2 * n)).by_definition("n·d taken out"),
    conventions=ALONE,
)

cost.theorem(
    "twice_as_long",
    "Twice as long a sequence takes self-attention four times the operations, the others twice",
    claim(cost(2 * n, d, k), "=", 4 * attention).by_definition("the square of the length"),
    claim(cost(2 * n, d, k).output(recurrence), "=", 2 * recurrence).by_definition(
        "each place costs the same"
    ),
    claim(cost(2 * n, d, k).output(convolution), "=", 2 * convolution).by_definition(
        "each place costs the same"
    ),
    conventions=ALONE,
)

cost.theorem(
    "stack",
    "Each convolution of a stack reaches r = k − 1 places further back: what lies beyond the layers below, by at most r, takes "
    "one more; there are never more layers than places, and never fewer than attention has",
    claim(path[2], "=", 1 + below).by_definition(
        "n − 2 is r times the layers below, and a rest smaller than r"
    ),
    claim(path[2], "<=", path[1]).by_definition("each layer reaches back at least one place"),
    claim(path[0], "<=", path[2]).by_definition("attention needs one layer"),
    sizes={k: r + 1, n: below * r + rest + 1},
    assuming=(le(rest, r),),
)

cost.theorem(
    "one_layer",
    "One convolution suffices where its kernel is as wide as the sequence is long",
    claim(path[2], "=", 1).by_definition("n − 2 is less than r"),
    sizes={k: r + 1, n: rest + 1},
    assuming=(le(rest, r),),
)

cost.theorem(
    "waiting",
    "Recurrence takes n steps one after the other, attention and convolution one: each step of the first takes two products with "
    "a matrix",
    claim(steps[1] * (2 * lift(d) ** 2), "=", recurrence).by_definition(
        "n steps of d rows and columns, twice"
    ),
    claim(steps[0], "=", 1).by_definition("all places side by side"),
    claim(steps[2], "=", 1).by_definition("all places side by side"),
)
