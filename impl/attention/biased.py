"""Multi-head attention whose projections have biases, and whether weights and biases of heads fit each other.

Letters are the statement's: sequences x of n and y of m entries of d_model numbers each; h heads. What stands in x where a query
may attend to nothing, or in y where no query may attend, reaches neither output nor gradient.
"""

from jaxtyping import Bool, Float
from torch import Tensor

from impl import _refuse
from impl._linear import linear
from impl.attention._blanking import blank_sequences
from impl.attention._checks import Backend, check_backend, check_mask
from impl.attention._heads import attend_heads, split_heads

__all__ = ["biased_multi_head"]


def biased_multi_head(
    x: Float[Tensor, "... n d_model"],
    y: Float[Tensor, "... m d_model"],
    W_q: Float[Tensor, "h d_model d_k"],
    b_q: Float[Tensor, "h d_k"],
    W_k: Float[Tensor, "h d_model d_k"],
    b_k: Float[Tensor, "h d_k"],
    W_v: Float[Tensor, "h d_model d_v"],
    b_v: Float[Tensor, "h d_v"],
    W_o: Float[Tensor, "h*d_v d_model"],
    b_o: Float[Tensor, " d_model"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    backend: Backend = "auto",
) -> Float[Tensor, "... n d_model"]:
    """[head_1 … head_h] W_o + b_o, where head_t is the attention of the queries x W_q[t] + b_q[t] to the keys y W_k[t] + b_k[t]
    and the values y W_v[t] + b_v[t]; all heads are projected by one product. Statement: ``attention.biased_multi_head``.

    The mask holds for every head; a query that may attend to nothing gets b_o. ``MultiHeadAttention`` holds the weights packed,
    as one linear layer. ValueError for shapes that do not fit, TypeError unless the sequences and the weights share one floating
    dtype and the mask is boolean. Source: Vaswani et al. 2017, section 3.2.2; Devlin et al. 2019, section 3.
    """
    formula = "attention.biased_multi_head"
    check_biased(formula, x, W_q=W_q, b_q=b_q, W_k=W_k, b_k=b_k, W_v=W_v, b_v=b_v, W_o=W_o, b_o=b_o)
    given = {"x": x} if y is x else {"x": x, "y": y}
    if y.dim() < 2 or y.shape[-1] != x.shape[-1]:
        raise _refuse.shapes(formula, f"y (... m d_model) with d_model = {x.shape[-1]}", y=y)
    _refuse.check_floating(formula, **given)
    if mask is not None:
        check_mask(formula, mask, x.shape[-2], y.shape[-2])
        given["mask"] = mask
    _refuse.check_lead(formula, **given)
    check_backend(formula, backend)
    x, y = blank_sequences(x, y, mask)
    projections = ((x, W_q, b_q), (y, W_k, b_k), (y, W_v, b_v))
    q, k, v = (projected(of, W, b) for of, W, b in projections)
    return linear(attend_heads(q, k, v, mask, False, backend)[0], W_o.mT, b_o)


def projected(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """x W[t] + b[t] for every head t by one product: (... h n width)."""
    return split_heads(linear(x, W.transpose(0, 1).flatten(1).mT, b.flatten()), W.shape[0])


def check_biased(formula: str, x: Tensor, **given: Tensor) -> None:
    """Refuse weights and biases W_q, b_q … W_o, b_o that do not fit each other or x, and other types than one floating one."""
    W_q, W_v = given["W_q"], given["W_v"]
    h, d_model, d_k = W_q.shape if W_q.dim() == 3 else (0, 0, 0)
    d_v = W_v.shape[-1] if W_v.dim() else 0
    expected = {
        "W_q": (h, d_model, d_k),
        "b_q": (h, d_k),
        "W_k": (h, d_model, d_k),
        "b_k": (h, d_k),
        "W_v": (h, d_model, d_v),
        "b_v": (h, d_v),
        "W_o": (h * d_v, d_model),
        "b_o": (d_model,),
    }
    if W_q.dim() != 3 or any(each.shape != expected[name] for name, each in given.items()):
        said = "W_q, W_k (h d_model d_k), b_q, b_k (h d_k), W_v (h d_model d_v), b_v (h d_v), W_o (h*d_v d_model), b_o (d_model)"
        raise _refuse.shapes(formula, said, **given)
    if x.dim() < 2 or x.shape[-1] != d_model:
        raise _refuse.shapes(formula, f"x (... n d_model) with d_model = {d_model}", x=x)
    _refuse.check_floating(formula, x=x, **given)
