"""Attention with a cache: the keys and values of what was read before are kept, and only what is new is asked."""

from spec.attention.causal import causal
from spec.attention.scaled_dot_product import scaled_dot_product
from spec.attention.token_by_token import kept_k, kept_v, token_by_token
from spec.attention.window import window
from spec.vocabulary import *

p, n, d_k, d_v = sizes("p n d_k d_v")
i, j, c, e = indices(i=n, j=p + n, c=d_k, e=d_v)

q = data("q", n, d_k, meaning="queries: of the new tokens")
k = data("k", n, d_k, meaning="keys: of the new tokens")
v = data("v", n, d_v, meaning="values: of the new tokens")
K = data("K", p, d_k, meaning="the keys that are kept, in their order")
V = data("V", p, d_v, meaning="the values that are kept")
K_all = tensor("K_all", p + n, d_k, meaning="the keys that are kept from now on")
V_all = tensor("V_all", p + n, d_v, meaning="the values that are kept from now on")
z = tensor("z", n, d_v, meaning="context: the mean of the values up to each new token, weighted by attention")

ONE_NEW = {"q": [[0]], "k": [[1]], "v": [[9]], "K": [[2], [3]], "V": [[3], [6]]}

cached = Formula(
    "attention.cached",
    "Attention with a cache",
    why="Must a text be read anew for each word that is written? Where no token sees those after it, the keys and values of what "
    "stands there never change: only the new token's are worked out and put behind those that are kept, and its query asks them "
    "all. The result is the same, and a step costs what one token costs. The price is memory: the cache grows by a key and a "
    "value for every token, in every layer and head.",
    sizes={p: "tokens kept", n: "new tokens", d_k: "width of a key", d_v: "width of a value"},
    inputs=(q, k, v, K, V),
    lines=(
        define(K_all[j, c], case(lt(j, p), K[j, c], k[j - p, c])),
        define(V_all[j, e], case(lt(j, p), V[j, e], v[j - p, e])),
        define(z, causal(q, K_all, V_all)),
    ),
    outputs=(z, K_all, V_all),
    pitfalls=(
        pitfall("new keys put in front of those that are kept", mutant="new_in_front"),
        pitfall(
            "several new tokens see one another, or the first key alone: the mask is aligned at the wrong end",
            mutant="upper_left",
        ),
        pitfall(
            "several new tokens asked without a mask, as one may be: they see those after them",
            mutant="unmasked",
        ),
        pitfall(
            "the new token does not see itself: its key is kept after it has asked",
            mutant="asked_before_kept",
        ),
        pitfall("what is returned is a view of a buffer that the next call overwrites", mutant="one_buffer"),
    ),
    sources=(
        paper("pope2022", "section 2.1: what is kept in generation"),
        paper("kwon2023", "section 2.2; section 4.1 for pages"),
    ),
    worked=(
        Worked(
            "A query of 0, two tokens kept and its own: the mean of the values 3, 6 and 9",
            ONE_NEW,
            [["6.0"]],
            1,
        ),
        Worked(
            "Two new tokens: the first sees three keys, the second all four",
            ONE_NEW | {"q": [[0], [0]], "k": [[1], [1]], "v": [[9], [2]]},
            [["6.0"], ["5.0"]],
            1,
        ),
        Worked(
            "What is kept from now on: the new key behind the others",
            ONE_NEW,
            [["2.0"], ["3.0"], ["1.0"]],
            1,
            output="K_all",
        ),
    ),
    notes="The empty cache is left out: with it this is attention.causal. Keys may be kept turned by their positions "
    "(positional.rotary), as long as frequencies do not change with the length.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

n_1, n_2, w, dropped = sizes("n_1 n_2 w dropped")
text_q, text_k, text_v = given("text_q", p + n, d_k), given("text_k", p + n, d_k), given("text_v", p + n, d_v)
now = cached(text_q[p:], text_k[p:], text_v[p:], text_k[:p], text_v[:p])

cached.theorem(
    "recomputed",
    "What the new tokens gather with a cache is what they gather when the whole text is read anew",
    claim(now[i, e], "=", causal(text_q, text_k, text_v)[p + i, e]).by_definition(
        "the queries stand beside the last keys, and see the same ones"
    ),
    given=(text_q, text_k, text_v),
)

cached.theorem(
    "one_token",
    "A single new token needs no mask: nothing comes after it",
    claim(z[0, e], "=", scaled_dot_product(q, K_all, V_all)[0, e]).by_definition(
        "it stands beside the last key"
    ),
    sizes={n: 1},
)

x, y = indices(x=n_1, y=n_2)
first = cached(q[:n_1], k[:n_1], v[:n_1], K, V)
then = cached(q[n_1:], k[n_1:], v[n_1:], first.output(K_all), first.output(V_all))

cached.theorem(
    "pieces",
    "New tokens may come in pieces: the first ones, and then the others with the cache that they leave, gather what all gather "
    "at once, and leave the same cache",
    claim(first[x, e], "=", z[x, e], x, e).by_definition("they see no token after them"),
    claim(then[y, e], "=", z[n_1 + y, e], y, e).by_definition("the keys are the same, in the same order"),
    claim(then.output(K_all)[j, c], "=", K_all[j, c]).by_definition("one behind the other"),
    claim(then.output(V_all)[j, e], "=", V_all[j, e]).by_definition("one behind the other"),
    sizes={n: n_1 + n_2},
)

(u,) = indices(u=w + n)
cached.theorem(
    "window",
    "Within a window of w tokens before its own, a token needs the last w that are kept: older ones may be dropped",
    claim(
        window(q, each(K_all[dropped + u, c], u, c), each(V_all[dropped + u, e], u, e), w)[i, e],
        "=",
        window(q, K_all, V_all, w)[i, e],
    ).by_definition("no key that is dropped is within reach of the first new token, or of any after it"),
    sizes={p: dropped + w},
)

(m,) = sizes("m")
a, b, t = indices(a=m, b=m, t=m)
given_q, given_k, given_v = given("given_q", m, d_k), given("given_k", m, d_k), given("given_v", m, d_v)
read = token_by_token(given_q, given_k, given_v)

cached.theorem(
    "token_by_token",
    "A text read token by token into a cache, each token asking what is kept once it stands there itself, gathers what one pass "
    "over the whole text gathers",
    claim(read[a, e], "=", causal(given_q, given_k, given_v)[a, e], a, e)
    .by_induction(
        t,
        claim(read.output(kept_k)[t, b, c], "=", case(lt(b, t), given_k[b, c]), b, c),
        claim(read.output(kept_v)[t, b, e], "=", case(lt(b, t), given_v[b, e]), b, e),
        last=m,
    )
    .because("token a sees the keys up to its own, which have been written when it asks"),
    given=(given_q, given_k, given_v),
    runs=False,
)
