"""The scaled dot-product score."""

from spec.vocabulary import *

n, m, d_k = sizes("n m d_k")
i, j, c = indices(i=n, j=m, c=d_k)

q, k = data("q", n, d_k), data("k", m, d_k)
s = tensor("s", n, m)

scaled_dot = Formula(
    "scores.scaled_dot",
    "Scaled dot-product score",
    inputs=(q, k),
    lines=(define(s[i, j], Sum(q[i, c] * k[j, c], c) / sqrt(d_k)),),
    outputs=(s,),
    sources=(
        deck(0, "self-attention, steps 2 and 3"),
        deck(2, "scaled dot product"),
        paper("vaswani2017", "eq. 1"),
    ),
    worked=(
        Worked(
            "“Thinking Machines”: scores 112 and 96 at d_k = 64 become 14 and 12",
            inputs={"q": [[112] + [0] * 63], "k": [[1] + [0] * 63, ["6/7"] + [0] * 63]},
            expected=[[14, 12]],
            decimals=0,
            source=deck(0, "self-attention, step 3"),
        ),
    ),
)
