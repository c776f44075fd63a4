"""Multi-head attention as a module, its projections packed."""

from typing import Literal, overload

from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn

from impl import _refuse
from impl._linear import linear
from impl.attention._blanking import blank_sequences
from impl.attention._checks import Backend, check_backend, check_mask
from impl.attention._heads import attend_heads, split_heads

__all__ = ["MultiHeadAttention"]


class MultiHeadAttention(nn.Module):
    """``attention.multi_head`` with its weights, and biases where wanted.

    Queries, keys and values of all heads come from one linear layer, ``qkv``: rows 0 … h·d_k − 1 of its weight make the
    queries, head after head, then come the keys and the values. Where y has a width ``d_y`` of its own, they are two layers,
    ``q`` and ``kv``. ``out`` is W_o. ``impl.attention.layouts`` exchanges them with other libraries, and with the
    statement's weights for each head.

    d_k and d_v are d_model / h unless given (ValueError where h does not divide d_model, and for a size below 1). Weights are
    drawn as Glorot & Bengio 2010 do, biases are 0.

    A call is ``project`` and then ``attend``. Who keeps keys and values from one call to the next (``impl.transformer``) calls
    the two, with what was kept between them.
    """

    def __init__(
        self,
        d_model: int,
        h: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        d_y: int | None = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        sizes = {"d_model": d_model, "h": h, "d_k": d_k, "d_v": d_v, "d_y": d_y}
        given = {name: size for name, size in sizes.items() if size is not None}
        if min(given.values()) < 1:
            got = ", ".join(f"{name} {size}" for name, size in given.items())
            raise ValueError(f"attention.multi_head: expected sizes of at least 1; got {got}")
        if (d_k is None or d_v is None) and d_model % h:
            raise ValueError(
                f"attention.multi_head: expected an h that divides d_model; got h {h}, d_model {d_model}"
            )
        self.d_model, self.d_y, self.h = d_model, d_y or d_model, h
        h_d_k, h_d_v = h * (d_k or d_model // h), h * (d_v or d_model // h)
        self.rows = [h_d_k, h_d_k, h_d_v]
        if self.d_y == d_model:
            self.qkv = nn.Linear(d_model, 2 * h_d_k + h_d_v, bias)
        else:
            self.q, self.kv = nn.Linear(d_model, h_d_k, bias), nn.Linear(self.d_y, h_d_k + h_d_v, bias)
        self.out = nn.Linear(h_d_v, d_model, bias)
        self.reset_parameters()

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Draw all weights anew (from ``generator``, if one is given), and set the biases to 0."""
        parts = {"qkv": self.rows, "q": self.rows[:1], "kv": self.rows[1:], "out": [self.d_model]}
        for name, parameter in self.named_parameters():
            layer, kind = name.split(".")
            for part in parameter.detach().split(parts[layer]):
                if kind == "weight":
                    nn.init.xavier_uniform_(part, generator=generator)
                else:
                    nn.init.zeros_(part)

    @overload
    def forward(
        self,
        x: Tensor,
        y: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        return_weights: Literal[False] = False,
        backend: Backend = "auto",
    ) -> Tensor: ...
    @overload
    def forward(
        self,
        x: Tensor,
        y: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        return_weights: Literal[True],
        backend: Backend = "auto",
    ) -> tuple[Tensor, Tensor]: ...
    def forward(
        self,
        x: Float[Tensor, "... n d_model"],
        y: Float[Tensor, "... m d_y"] | None = None,
        mask: Bool[Tensor, "... #n #m"] | None = None,
        *,
        return_weights: bool = False,
        backend: Backend = "auto",
    ) -> Float[Tensor, "... n d_model"] | tuple[Float[Tensor, "... n d_model"], Float[Tensor, "... h n m"]]:
        """z (... n d_model): x attends to y, or to itself where no y is given.

        A query that may attend to nothing gets 0 from every head, so z is 0 there too, plus the bias of ``out`` if there
        is one. Errors are those of ``multi_head``.

        ``return_weights=True`` returns (z, a), a (... h n m) the weights of every head, which otherwise never exist. Measured
        at 4 × 512 × 768 with 12 heads in float32, on one core: 1.3 times the time in training and 1.5 times in
        evaluation, and 212 against 75 MiB at the peak in training.
        """
        y = x if y is None else y
        self._check(x, y, mask)
        check_backend("attention.multi_head", backend)
        x, y = blank_sequences(x, y, mask)
        z, a = self._attend(*self.project(x, y), mask, return_weights, backend)
        return z if a is None else (z, a)

    def project(
        self, x: Float[Tensor, "... n d_model"], y: Float[Tensor, "... m d_y"] | None = None
    ) -> tuple[Float[Tensor, "... h n d_k"], Float[Tensor, "... h m d_k"], Float[Tensor, "... h m d_v"]]:
        """Queries of x, keys and values of y (of x where no y is given), head by head."""
        if self.d_y == self.d_model and (y is None or y is x):
            q, k, v = linear(x, self.qkv.weight, self.qkv.bias).split(self.rows, -1)
            return split_heads(q, self.h), split_heads(k, self.h), split_heads(v, self.h)
        return self.queries(x), *self.keys_and_values(x if y is None else y)

    def queries(self, x: Float[Tensor, "... n d_model"]) -> Float[Tensor, "... h n d_k"]:
        """The first of what ``project`` gives, by itself."""
        if self.d_y != self.d_model:
            return split_heads(self.q(x), self.h)
        rows = slice(0, self.rows[0])
        return split_heads(linear(x, *self._part(rows)), self.h)

    def keys_and_values(
        self, y: Float[Tensor, "... m d_y"]
    ) -> tuple[Float[Tensor, "... h m d_k"], Float[Tensor, "... h m d_v"]]:
        """The other two by themselves: what does not change while queries come."""
        rows = slice(self.rows[0], None)
        kv = self.kv(y) if self.d_y != self.d_model else linear(y, *self._part(rows))
        k, v = kv.split(self.rows[1:], -1)
        return split_heads(k, self.h), split_heads(v, self.h)

    def attend(
        self,
        q: Float[Tensor, "... h n d_k"],
        k: Float[Tensor, "... h m d_k"],
        v: Float[Tensor, "... h m d_v"],
        mask: Bool[Tensor, "... #n #m"] | None = None,
        *,
        backend: Backend = "auto",
    ) -> Float[Tensor, "... n d_model"]:
        """z, given what ``project`` gave. The mask holds for every head, and has no axis for them."""
        return self._attend(q, k, v, mask, False, backend)[0]

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, return_weights: bool, backend: Backend
    ) -> tuple[Tensor, Tensor | None]:
        concat, a = attend_heads(q, k, v, mask, return_weights, backend)
        return linear(concat, self.out.weight, self.out.bias), a

    def _part(self, rows: slice) -> tuple[Tensor, Tensor | None]:
        """Some rows of the packed projection: weight and bias."""
        return self.qkv.weight[rows], None if self.qkv.bias is None else self.qkv.bias[rows]

    def _check(self, x: Tensor, y: Tensor, mask: Tensor | None) -> None:
        if min(x.dim(), y.dim()) < 2 or x.shape[-1] != self.d_model or y.shape[-1] != self.d_y:
            expected = f"x (... n {self.d_model}), y (... m {self.d_y})"
            raise _refuse.shapes("attention.multi_head", expected, x=x, y=y)
        _refuse.check_floating("attention.multi_head", x=x, y=y, weight=self.out.weight)
        given = {"x": x, "y": y}
        if mask is not None:
            check_mask("attention.multi_head", mask, x.shape[-2], y.shape[-2])
            given["mask"] = mask
        _refuse.check_lead("attention.multi_head", **given)
