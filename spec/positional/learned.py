"""Learned position embedding: a position told by a row of a table."""

from spec.vocabulary import *

n, d, N = sizes("n d N")
p, c, t = indices(p=n, c=d, t=N)

pos = data("pos", n, domain="integer", below=N, meaning="where each token stands, counted from 0")
W_PE = parameter("W_PE", N, d, meaning="the table: a vector for each position that there may be")
PE = tensor("PE", n, d, meaning="the vector of each token's position")

learned = Formula(
    "positional.learned",
    "Learned position embedding",
    why="Which vectors tell positions best? Instead of fixing them by a formula, let training choose: a table with a row "
    "for every position is one more parameter, optimised with all the others, as BERT does. The price is a longest "
    "sequence, N tokens: a position beyond the table has no row, and a row that training seldom met has learned little.",
    sizes={n: "tokens", d: "width: the columns of a vector", N: "longest sequence"},
    inputs=(pos, W_PE),
    lines=(define(PE[p, c], W_PE[pos[p], c]),),
    outputs=(PE,),
    pitfalls=(
        pitfall(
            "the first n rows whatever the positions: wrong where sequences are padded on the left or continued",
            mutant="arange_instead",
        ),
        pitfall("a factor √d, which belongs to the embeddings of tokens", mutant="scaled_by_root"),
        pitfall("an index of padding for the table: position 0 then never learns", mutant="padding_row"),
    ),
    sources=(deck(4, "learned positional embeddings"), paper("gehring2017", "section 3.1")),
    worked=(
        Worked(
            "Three tokens in a row, with a table of three rows: the table itself",
            {"pos": [0, 1, 2], "W_PE": [[1, 0], [0, 1], ["1/2", "1/2"]]},
            [["1.0", "0.0"], ["0.0", "1.0"], ["0.5", "0.5"]],
            1,
        ),
        Worked(
            "“Thinking Machines” after one token of padding: the words stand at positions 0 and 1 all the same",
            {"pos": [0, 0, 1], "W_PE": [[1, 0], [0, 1], ["1/2", "1/2"]]},
            [["1.0", "0.0"], ["1.0", "0.0"], ["0.0", "1.0"]],
            1,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

learned.theorem(
    "one_hot",
    "The row looked up is the product of a one-hot vector with the table",
    claim(PE[p, c], "=", Sum(delta(t, pos[p]) * W_PE[t, c], t))
    .step(W_PE[pos[p], c], "the definition")
    .because("the delta picks row pos[p], which is in the table"),
)
