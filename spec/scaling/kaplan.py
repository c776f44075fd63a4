"""Laws of scale: the loss of a language model as a power of its parameters, its text, and the compute that trained it."""

from spec.gpt.layer import layer
from spec.transformer.cost import cost
from spec.transformer.parts import d_ff, d_k, d_model, d_v, h
from spec.vocabulary import *

N = data("N", domain="positive", meaning="parameters of the model, those of its embeddings left out")
D = data("D", domain="positive", meaning="tokens of text to learn from")
C = data("C", domain="positive", meaning="compute of training, in the unit of C_c")
N_c = number("N_c", "positive", meaning="parameters at which the loss would be 1, were text unlimited")
D_c = number("D_c", "positive", meaning="tokens at which the loss would be 1, were the model unlimited")
C_c = number("C_c", "positive", meaning="compute at which the loss would be 1")
alpha_N = number("alpha_N", "positive", meaning="α_N: with which power of N the loss falls")
alpha_D = number("alpha_D", "positive", meaning="α_D: with which power of D")
alpha_C = number("alpha_C", "positive", meaning="α_C: with which power of C")
LAWS = (N_c, D_c, C_c, alpha_N, alpha_D, alpha_C)
"""What is fitted."""
L_N = tensor(
    "L_N", domain="positive", meaning="loss of a model of this size, were text unlimited, in nats a token"
)
L_D = tensor("L_D", domain="positive", meaning="loss with so much text, were the model unlimited")
L_C = tensor(
    "L_C", domain="positive", meaning="loss with so much compute, where model and text share it best"
)
L = tensor("L", domain="positive", meaning="loss where both model and text are limited")
share_N, share_D = (N_c / N) ** (alpha_N / alpha_D), D_c / D

EACH = {
    "N_c": 88 * 10**12,
    "D_c": 54 * 10**12,
    "C_c": 31 * 10**7,
    "alpha_N": "76/1000",
    "alpha_D": "95/1000",
    "alpha_C": "50/1000",
}
"""As published, each law fitted by itself; compute as used best, C_min, in petaflop/s-days."""
JOINT = EACH | {"N_c": 64 * 10**12, "D_c": 18 * 10**12, "alpha_D": "103/1000"}
"""As published for the joint law, fitted at once."""
PLAIN = EACH | {"C_c": 16 * 10**6, "alpha_C": "57/1000"}
"""As published for compute as it was used, in batches of one size, whether or not these were best."""
each_fit = paper("kaplan2020", "eqs. 1.1 to 1.3, appendix A")
joint_fit = paper("kaplan2020", "eq. 1.5, table 2")

kaplan = Formula(
    "scaling.kaplan",
    "Laws of scale",
    why="How good will a language model be that nobody has trained yet? Training a large one takes months, and is done once. But "
    "losses of small ones lie on a line where both axes are logarithmic, over many powers of ten, whether the model, its text "
    "or its compute is what is short. A line has two numbers, which small models tell, and large ones are predicted by it. "
    "Where two things are short at once, one law has to join both lines: it adds up what either lacks, on a scale on "
    "which that of the text falls as 1/D, as a mean over D tokens lets one expect.",
    inputs=(N, D, C, *LAWS),
    lines=(
        define(L_N, (N_c / N) ** alpha_N),
        define(L_D, (D_c / D) ** alpha_D),
        define(L_C, (C_c / C) ** alpha_C),
        define(L, (share_N + share_D) ** alpha_D),
    ),
    outputs=(L_N, L_D, L_C, L),
    pitfalls=(
        pitfall("the two laws added up: that is another law, with another best size", mutant="laws_added"),
        pitfall("the powers of the joint law the wrong way round: α_D/α_N", mutant="ratio_inverted"),
        pitfall(
            "a share that overflows, where the loss, its small power, does not: in logarithms it does not",
            mutant="share_overflows",
        ),
        pitfall("the larger of the two losses for both together", mutant="larger_of_both"),
        pitfall(
            "a best size by the paper's 0.73, which does not follow from these laws", theorem="best_size"
        ),
        pitfall(
            "attention's own products forgotten in 6·N·D where the text is long beside the width",
            theorem="compute",
        ),
    ),
    sources=(
        deck(0, "scaling laws"),
        each_fit,
        joint_fit,
        paper("kaplan2020", "section 2.1: 12·L·d² parameters and 6·N·D operations"),
        paper("kaplan2020", "appendix A: α_C = 0.057 and C_c = 1.6·10⁷ petaflop/s-days for compute as used"),
        paper("hoffmann2022", "section 3: both grow about equally with compute, by the power 0.5"),
    ),
    worked=(
        Worked("8.8·10¹³ parameters: the loss is 1", {"N": 88 * 10**12, "D": 1, "C": 1, **EACH}, "1", 9),
        Worked(
            "The 1.5 billion parameters of the largest GPT-2: (8.8·10¹³/1.5·10⁹)^0.076",
            {"N": 15 * 10**8, "D": 1, "C": 1, **EACH},
            "2.3036",
            4,
        ),
        Worked(
            "23 billion tokens, as many as were at hand: (5.4·10¹³/2.3·10¹⁰)^0.095",
            {"N": 1, "D": 23 * 10**9, "C": 1, **EACH},
            "2.0903",
            4,
            output="L_D",
        ),
        Worked(
            "Ten petaflop/s-days, spent best: (3.1·10⁸/10)^0.050",
            {"N": 1, "D": 1, "C": 10, **EACH},
            "2.3690",
            4,
            output="L_C",
        ),
        Worked(
            "As the paper's runs spent them: (1.6·10⁷/10)^0.057",
            {"N": 1, "D": 1, "C": 10, **PLAIN},
            "2.2575",
            4,
            output="L_C",
        ),
        Worked(
            "The same model and text together, by the joint fit",
            {"N": 15 * 10**8, "D": 23 * 10**9, "C": 1, **JOINT},
            "2.3101",
            4,
            output="L",
        ),
    ),
    notes="N leaves the tables of words and of positions out, since with them the lines bend; the loss is in nats a token, so "
    "that where the lines meet 1 depends on how the text is cut. α_D is 0.095 where L(D) is fitted by itself and 0.103 in the "
    "joint fit; α_C is 0.050 for C_min, compute as it is used best, and 0.057 as it was used. At C = 6·N·D the joint law makes "
    "the best size grow as C to the power α_D/(α_N + α_D): 0.56 by 0.076 and 0.095, 0.58 by the joint fit's own 0.103. The "
    "paper says 0.73, and this is no contradiction: its 0.73 is fitted to other runs, and predicted (0.71) from another law, "
    "L(N, S), of models stopped after S steps, long before they have learned what they could; there a larger model has the gain "
    "that it learns more from each token. L(N, D) is the loss at the end of training on a text that is seen over and over: it "
    "knows nothing of that, and compute is not 6·N·D there. (The 0.74 with which text has to grow with size is yet another "
    "number, α_N/α_D: theorem in_step.) Hoffmann et al. found 0.5 where each run's learning rate ends when the run does.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

d, n, layers = sizes("d n layers")
c, more = given("c", domain="positive"), given("more", domain="positive")
u = given("u")
ratio = alpha_N / alpha_D
both = share_N + share_D


def together(N: object, D: object) -> Applied:
    """The joint law."""
    return kaplan(N, D, C, *LAWS).output(L)


kaplan.theorem(
    "powers",
    "Multiplying the parameters by c multiplies L(N) by c to the power −α_N; so with tokens and compute, each by its own power",
    *(
        claim(kaplan(*at, *LAWS).output(law), "=", c ** (-alpha) * law).by_definition(
            "a power of a product is the product of the powers"
        )
        for law, alpha, at in (
            (L_N, alpha_N, (c * N, D, C)),
            (L_D, alpha_D, (N, c * D, C)),
            (L_C, alpha_C, (N, D, c * C)),
        )
    ),
    given=c,
)

kaplan.theorem(
    "slopes",
    "On logarithmic axes the first three are lines, with slopes −α; the joint law's slopes are these times the shares",
    *(
        claim(kaplan(N, D, C, *LAWS).output(law).pullback(1, of), "=", -alpha * law / of).by_definition(
            "the derivative of a power"
        )
        for law, alpha, of in ((L_N, alpha_N, N), (L_D, alpha_D, D), (L_C, alpha_C, C))
    ),
    *(
        claim(together(N, D).pullback(1, of), "=", -alpha * (share / both) * L / of).by_definition(
            "the derivative of a power, and of what is raised"
        )
        for share, alpha, of in ((share_N, alpha_N, N), (share_D, alpha_D, D))
    ),
)

kaplan.theorem(
    "falls",
    "Every law falls in each of its arguments: of 1 + more times as much the loss is smaller",
    *(
        claim(kaplan(*at, *LAWS).output(law), "<", law)
        .step(law * (1 + more) ** (-alpha), "a power of a product")
        .because("1 + more is above 1, and the power negative")
        for law, alpha, at in (
            (L_N, alpha_N, ((1 + more) * N, D, C)),
            (L_D, alpha_D, (N, (1 + more) * D, C)),
            (L_C, alpha_C, (N, D, (1 + more) * C)),
        )
    ),
    claim(together((1 + more) * N, D), "<", L)
    .step(
        L
        / (1 + share_N * (1 - (1 + more) ** (-ratio)) / (share_N * (1 + more) ** (-ratio) + share_D))
        ** alpha_D,
        "what is raised has lost a part of the model's share",
    )
    .because("the divisor is above 1"),
    claim(together(N, (1 + more) * D), "<", L)
    .step(L * (1 - share_D * (more / (1 + more)) / both) ** alpha_D, "it has lost a part of the text's share")
    .because("the factor is below 1"),
    given=more,
)

kaplan.theorem(
    "above_both",
    "The joint loss is above L(N) and above L(D), by a factor (1 + x)^α_D: x is the other's share beside its own",
    claim(L, "=", L_N * (1 + share_D / share_N) ** alpha_D).by_definition("the model's share taken out"),
    claim(L, "=", L_D * (1 + share_N / share_D) ** alpha_D).by_definition("the text's share taken out"),
    claim(L_N, "<", L)
    .step(L * (1 - share_D / both) ** alpha_D, "what is raised, without the text's share")
    .because("the factor is below 1"),
    claim(log(L_D), "<", log(L))
    .step(alpha_D * log(share_D), "the logarithm of a power")
    .because("the model's share is positive"),
)

text, model = D_c / (more * share_N), N_c / (more * share_D) ** (alpha_D / alpha_N)

kaplan.theorem(
    "limits",
    "Its limits are L(N), as D grows, and L(D), as N grows: for every factor (1 + more)^α_D above 1 there is a D from which on "
    "it is less than so many times L(N), and an N from which on it is less than so many times L(D)",
    claim(together(N, text), "=", (1 + more) ** alpha_D * L_N)
    .step((share_N * (1 + more)) ** alpha_D, "at this D the text's share is the model's times more")
    .because("the power of a product"),
    claim(log(together(N, (1 + c) * text)), "<", log((1 + more) ** alpha_D * L_N))
    .step(alpha_D * log(share_N) + alpha_D * log(1 + more / (1 + c)), "beyond it it is smaller")
    .because("1 + c is above 1"),
    claim(together(model, D), "=", ((1 + more) * share_D) ** alpha_D).by_definition(
        "at this N the model's share is the text's times more"
    ),
    claim(log(together((1 + c) ** (1 / ratio) * model, D)), "<", alpha_D * log((1 + more) * share_D))
    .step(alpha_D * log((1 + more / (1 + c)) * share_D), "beyond it it is smaller")
    .because("1 + c is above 1"),
    given=(more, c),
)

kaplan.theorem(
    "in_step",
    "Where D grows as N to the power α_N/α_D neither limits the loss more than before, and it falls as L(N) does",
    claim(together(c * N, c**ratio * D), "=", c ** (-alpha_N) * L)
    .step((c ** (-ratio) * both) ** alpha_D, "both shares fall alike")
    .because("the power of a product"),
    given=c,
)

enough = D_c / (ratio * share_N)
"""The tokens beside which N is the best size."""


def budget(N: Node) -> Node:
    """The compute at which N is the best size, in operations."""
    return lift(6) * N * (D_c / (ratio * (N_c / N) ** ratio))


kaplan.theorem(
    "best_size",
    "Of all that C = 6·N·D lets one choose N is best where α_N times the model's share is α_D times the text's: c^α_D times the "
    "size for c^(α_N + α_D) times the compute, so that the best N grows as C to the power α_D/(α_N + α_D)",
    claim(together(N, enough).pullback(1, N) - enough / N * together(N, enough).pullback(1, D), "=", 0)
    .step(
        alpha_D * L_N * (1 + ratio) ** alpha_D / ((1 + ratio) * N) * (ratio - ratio),
        "D = C/(6·N) falls by D/N where N grows by 1",
    )
    .because("the first-order condition: both terms are the same"),
    claim(log(together(N, enough)), "<=", log(together(N * exp(u / ratio), enough * exp(-u / ratio))))
    .step(log(L_N) + alpha_D * log(1 + ratio), "the text's share is the model's times α_N/α_D")
    .because(
        "with e^(u·α_D/α_N) times the size shares are e^−u and α_N/α_D·e^(u·α_D/α_N) times that, and eˣ ≥ 1 + x"
    ),
    claim(budget(c**alpha_D * N), "=", c ** (alpha_N + alpha_D) * budget(N)).by_definition(
        "N to the power 1 + α_N/α_D"
    ),
    given=(u, c),
)

kaplan.theorem(
    "parameters",
    "A layer of a GPT that is d wide, its heads side by side and its network four times as wide, has 12·d² parameters and "
    "13/(12·d) times as many more: N = 12·L·d² for L layers falls short by this part, below 1.1 % from d = 100 on",
    claim(
        layers * parameters(layer), "=", 12 * layers * (h * lift(d_k)) ** 2 * (1 + 13 / (12 * h * lift(d_k)))
    ).by_definition("12·d² + 13·d for each, by the theorem parameters_of_width of gpt.layer"),
    sizes={d_model: h * d_k, d_v: d_k, d_ff: 4 * h * d_k},
    runs=False,
)

kaplan.theorem(
    "compute",
    "Learning from a text of n tokens takes 6·N·n operations, N = 12·L·d², and n/(6·d) times as many more for attention's own "
    "products, or n/(12·d) as the paper has it, where none are counted with tokens that come later",
    claim(
        2 * 3 * layers * (12 * n * lift(d) ** 2 + cost(n, d, 1)),
        "=",
        6 * (12 * layers * lift(d) ** 2) * n * (1 + n / (6 * lift(d))),
    ).by_definition(
        "each weight multiplies and adds once for a token; backward there are two such products for each one forward"
    ),
    runs=False,
)
