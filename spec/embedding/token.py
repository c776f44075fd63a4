"""The token embedding: a token's identity becomes a vector."""

from spec.vocabulary import *

n, V, d = sizes("n V d")
i, c, e, t, l = indices(i=n, c=d, e=d, t=V, l=n)

ids = data("ids", n, domain="integer", below=V, meaning="which token stands at each position")
E = parameter("E", V, d, meaning="table: one learned vector for each token of the vocabulary")
x = tensor("x", n, d, meaning="the vector of the token at each position")

SCALE = Convention(
    "scale",
    {
        "one": "the row as it stands in the table",
        "sqrt_d": "the row times √d, as the Transformer's first layer has it",
    },
    default="one",
)
PADDING = Convention(
    "padding",
    {
        "none": "all ids alike",
        "id_0": "id 0 stands for padding: its vector is 0, and its row gets no gradient",
        "id_1": "id 1 stands for padding, as in fairseq and RoBERTa: its vector is 0, and its row gets no gradient",
    },
    default="none",
)
PLAIN = {"scale": "one", "padding": "none"}
row = by_convention("scale", one=E[ids[i], c], sqrt_d=sqrt(d) * E[ids[i], c])

token = Formula(
    "embedding.token",
    "Token embedding",
    why="How does a network read words, if it can only multiply and add? Numbering the words is not enough, since word 7 is "
    "no closer to word 8 than to any other, and one-hot vectors are all equally far apart. So every token of the vocabulary "
    "gets a short vector of its own, learned with everything else: words that are used alike can come to lie close together.",
    sizes={n: "positions", V: "vocabulary: the tokens there are", d: "width of a token's vector"},
    inputs=(ids, E),
    lines=(
        define(
            x[i, c],
            by_convention(
                "padding",
                none=row,
                id_0=case(~eq(ids[i], 0), row),
                id_1=case(~eq(ids[i], 1), row),
            ),
        ),
    ),
    outputs=(x,),
    conventions=(SCALE, PADDING),
    pitfalls=(
        pitfall("id 0 taken for padding: a row that never learns", convention="padding"),
        pitfall("only one of the places where a token stands adds to its gradient", theorem="gradient"),
        pitfall("times √d: the Transformer does so", convention="scale"),
    ),
    sources=(
        deck(1, "recurrent neural networks: a one-hot encoding times an embedding matrix"),
        deck(2, "word embedding, size 512"),
        deck(4, "(sub)word embeddings"),
        paper("bengio2003", "section 2"),
    ),
    worked=(
        Worked(
            "A vocabulary of three; the text is its third, first and third token",
            {"ids": [2, 0, 2], "E": [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]},
            [["1", "1", "1", "1"], ["1", "0", "1", "0"], ["1", "1", "1", "1"]],
            0,
        ),
        Worked(
            "The same times √4 = 2, where the first token stands for padding",
            {"ids": [2, 0, 2], "E": [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]},
            [["2", "2", "2", "2"], ["0", "0", "0", "0"], ["2", "2", "2", "2"]],
            0,
            conventions={"scale": "sqrt_d", "padding": "id_0"},
        ),
    ),
    notes="Row t of E is the product of t's one-hot vector with E. The factor √d belongs to tables that also write the logits, "
    "as the Transformer's does: for these not to be large, entries of E have to be about 1/√d, and a row that is read would be "
    "√(d/2) times smaller than the positions that are added to it, whose root mean square is 1/√2; times √d both are of one "
    "size.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

E_other, g = given("E_other", V, d), given("g", n, d)
looked_up = Some(eq(ids[l], t), l)

token.theorem(
    "one_hot",
    "Looking a token up is multiplying its one-hot vector with the table",
    claim(x[i, c], "=", Sum(delta(t, ids[i]) * E[t, c], t))
    .step(Sum(delta(t, ids[i]), t) * E[ids[i], c], "the token is in the table: just one delta is 1")
    .because("where a delta is not 0, the row t is that of the token"),
    conventions=PLAIN,
)

token.theorem(
    "gradient",
    "The gradient of a row is the sum over the places where its token stands; rows not looked up get none",
    claim(token(ids, E).pullback(g, E)[t, c], "=", Sum(delta(t, ids[i]) * g[i, c], i))
    .step(
        Sum(delta(t, ids[i]) * delta(c, e) * g[i, e], i, e),
        "the derivative of an entry that was looked up is 1 where row and column agree, else 0",
    )
    .because("the delta picks e = c"),
    claim(token(ids, E).pullback(g, E)[t, c], "=", 0, where=~looked_up)
    .step(Sum(delta(t, ids[i]) * g[i, c], i), "the sum over the places where the token stands")
    .because("the token stands nowhere, so every delta is 0"),
    given=g,
    conventions=PLAIN,
)

token.theorem(
    "other_rows",
    "Rows that are not looked up have no influence",
    claim(token(ids, each(case(looked_up, E[t, c], E_other[t, c]), t, c))[i, c], "=", x[i, c])
    .step(case(Some(eq(ids[l], ids[i]), l), E[ids[i], c], E_other[ids[i], c]), "row t = idsᵢ is read")
    .because("that token is looked up: at l = i"),
    given=E_other,
    conventions=PLAIN,
)

token.theorem(
    "padding",
    "Where id 0 stands for padding its vector is 0, and its row gets no gradient",
    claim(x[i, c], "=", 0, where=eq(ids[i], 0)).by_definition("so it is defined"),
    claim(token(ids, E).pullback(g, E)[0, c], "=", 0).by_definition("the row is in no entry"),
    given=g,
    conventions={"padding": "id_0"},
)

token.theorem(
    "scaled",
    "With the factor √d, each vector is √d times the row of its token",
    claim(x[i, c], "=", sqrt(d) * E[ids[i], c]).by_definition("so it is defined"),
    conventions={"scale": "sqrt_d", "padding": "none"},
)
