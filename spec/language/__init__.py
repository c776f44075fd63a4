"""The language in which formulas are stated: trees, definitions, theorems, and what is derived from them."""

from spec.language.calls import Applied, Call, Comprehension, Pullback, each
from spec.language.expr import (
    TRUE,
    Max,
    Node,
    Ref,
    Some,
    Sum,
    Tensor,
    Undefined,
    absolute,
    by_convention,
    case,
    cos,
    delta,
    eq,
    exp,
    indices,
    le,
    lift,
    log,
    lt,
    rounded,
    sigmoid,
    sin,
    sizes,
    sqrt,
    substitute,
    tanh,
)
from spec.language.formula import (
    Convention,
    Definition,
    Formula,
    LineChoice,
    Source,
    Worked,
    data,
    deck,
    define,
    lines_by_convention,
    number,
    optional_mask,
    paper,
    parameter,
    tensor,
)
from spec.language.law import Axiom, Law
from spec.language.procedure import Procedure
from spec.language.theorem import Assurance, Claim, Proof, Step, Theorem, claim, given

__all__ = [name for name in dir() if not name.startswith("_")]
