"""Variants of ``transformer.output`` and ``transformer.model``."""

import torch

from tests.mutants import right, wrong
from tests.mutants.transformer_decoders import stack as decoder
from tests.mutants.transformer_decoders import token_by_token
from tests.mutants.transformer_layers import stack as encoder

OUTPUT, MODEL = "transformer.output", "transformer.model"


def output(law, logits=lambda logits: logits):
    """Probabilities that ``law`` makes of the logits, and these."""

    def words(x, W_vocab):
        made = logits(x @ W_vocab)
        return law(made), made

    return words


def divided(e):
    """Each row over its sum."""
    return e / e.sum(-1, keepdim=True)


wrong(OUTPUT, "over_the_places", "Softmax over the places.", cause="wrong axis")(
    output(lambda logits: logits.softmax(-2))
)


@wrong(OUTPUT, cause=r"is divided by √\(?d_model")
def scaled(x, W_vocab):
    """Logits divided by √d_model, as scores are."""
    logits = x @ W_vocab / x.shape[-1] ** 0.5
    return logits.softmax(-1), logits


wrong(OUTPUT, "softmax_twice", "Softmax of probabilities.", cause=r"softmax is taken of p\b")(
    output(lambda logits: logits.softmax(-1).softmax(-1))
)
wrong(OUTPUT, "in_logarithms", "Logarithms of the probabilities.", cause="logarithm of p is")(
    output(lambda logits: logits.log_softmax(-1))
)
wrong(OUTPUT, "each_by_itself", "A sigmoid for each word: they do not sum to 1.", cause="sigmoid")(
    output(torch.sigmoid)
)
wrong(
    OUTPUT,
    "largest_subtracted",
    "Returns the logits as they were made safe for the softmax.",
    cause="logits .*largest|largest .*logits",
)(output(lambda logits: logits.softmax(-1), lambda logits: logits - logits.amax(-1, keepdim=True)))
wrong(OUTPUT, "exchanged", "Logits first.", cause="results are exchanged")(
    lambda x, W_vocab: output(lambda logits: logits.softmax(-1))(x, W_vocab)[::-1]
)
wrong(
    OUTPUT, "not_shifted", "Exponentials of the logits as they are: large ones overflow.", cause="overflows"
)(output(lambda logits: divided(logits.exp())))
wrong(OUTPUT, "table_frozen", "No gradient reaches the words' vectors.", cause="no gradient reaches W_vocab")(
    lambda x, W_vocab: output(lambda logits: logits.softmax(-1), lambda logits: logits + 0 * W_vocab.sum())(
        x, W_vocab.detach()
    )
)


@right(OUTPUT)
def by_logarithms(x, W_vocab):
    """The exponential of log-softmax."""
    logits = torch.einsum("...c,cv->...v", x, W_vocab)
    return logits.log_softmax(-1).exp(), logits


right(OUTPUT, "shifted_by_hand", "The largest logit subtracted first.")(
    output(lambda logits: divided((logits - logits.amax(-1, keepdim=True)).exp()))
)

# The model ----------------------------------------------------------------------------------------------------------------


def positions(n, E, start=0):
    """Sines and cosines, right; counted from ``start``."""
    d = E.shape[-1]
    pair = torch.arange(d, dtype=torch.float64, device=E.device) // 2
    place = torch.arange(start, start + n, dtype=torch.float64, device=E.device)
    angle = place[:, None] * 1e4 ** (-2 * pair / d)
    odd = torch.arange(d, device=E.device) % 2 == 1
    return torch.where(odd, angle.cos(), angle.sin()).to(E.dtype)


def embedded(ids, E, scale=None, start=0):
    """Tokens with their positions, right unless another scale or start is given."""
    return E[ids] * (E.shape[-1] ** 0.5 if scale is None else scale) + positions(ids.shape[-1], E, start)


def parts(inputs):
    """The encoder's parameters, the decoder's, ε and the mask, for all queries."""
    mask = inputs[31] if len(inputs) > 31 else None
    return inputs[:12], inputs[12:30], inputs[30], None if mask is None else mask.unsqueeze(-2)


def seen(mask, rows):
    """The mask for so many queries."""
    return None if mask is None else mask.expand(*mask.shape[:-2], rows, mask.shape[-1])


def run(X, Y, table, inputs, hide=(True, True), write=decoder):
    """The logits, right for embedded sequences; ``hide`` tells whether encoder and decoder are given the mask."""
    first, second, eps, mask = parts(inputs)
    x = encoder(X, *first, eps, seen(mask, X.shape[-2]) if hide[0] else None)
    y = write(Y, x, *second, eps, seen(mask, Y.shape[-2]) if hide[1] else None)
    return y @ table.mT


def model(embed=embedded, target=None, table=lambda E: E, law=lambda logits: logits.softmax(-1), **changes):
    """The model, right but for what is given: how both sequences, or the target alone, are embedded, and so on."""
    return lambda s, t, E, *inputs: law(
        run(embed(s, E), (target or embed)(t, E), table(E), inputs, **changes)
    )


wrong(MODEL, "positions_from_one", "Counts positions from 1.", cause="t counts from 1")(
    model(lambda ids, E: embedded(ids, E, start=1))
)
wrong(MODEL, "not_scaled", "Embeddings as they stand in the table.", cause="scale is missing: [XY]")(
    model(lambda ids, E: embedded(ids, E, 1.0))
)
wrong(MODEL, "positions_scaled", "√d_model multiplies the positions too.", cause=r"\bPE\b.* multiplied")(
    model(lambda ids, E: embedded(ids, E, 1.0) * E.shape[-1] ** 0.5)
)
wrong(MODEL, "target_without_positions", "No positions in the target.", cause="PE.* is not added in Y")(
    model(target=lambda ids, E: E[ids] * E.shape[-1] ** 0.5)
)
wrong(
    MODEL,
    "padding_in_cross",
    "The decoder sees the source's padding.",
    cause=r"must not read|mask is ignored in|mask\S* is not applied",
)(model(hide=(True, False)))
wrong(
    MODEL,
    "padding_in_encoder",
    "The encoder sees its padding, the decoder does not.",
    cause=r"must not read|mask is ignored in|mask\S* is not applied",
)(model(hide=(False, True)))
wrong(MODEL, "table_shifted", "The output's table is off by one row.", cause=r"\bE\b.*(moved|row)")(
    model(table=lambda E: E.roll(1, 0))
)
wrong(
    MODEL,
    "sequences_exchanged",
    "Source and target exchanged where their lengths let them.",
    cause="(s and t|t and s) are exchanged",
)(lambda s, t, E, *inputs: model()(*((t, s) if s.shape == t.shape else (s, t)), E, *inputs))
wrong(MODEL, "logits_returned", "Returns logits.", cause="reads logits where|no softmax")(
    model(law=lambda logits: logits)
)
wrong(
    MODEL,
    "output_untied",
    "The output's table learns nothing: it was copied.",
    cause=r"gradient of E\b|\bE\b.*constant",
)(model(table=lambda E: E.detach()))
right(MODEL, "plainly", "Loops over layers and heads.")(model())
right(MODEL, "written_one_by_one", "The target a token at a time, as in use.")(model(write=token_by_token))
right(MODEL, "not_scaled_by_name", "Embeddings as they stand, by that convention.", embedding_scale="one")(
    model(lambda ids, E: embedded(ids, E, 1.0))
)
