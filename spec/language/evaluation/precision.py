"""Floating-point formats and the precision model of an implementation: what rounds where, and by how much."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A floating-point format: unit roundoff, the smallest normal (results below may be flushed), the largest finite."""

    name: str
    unit: float
    tiny: float
    largest: float


FORMATS = {
    "float64": Format("float64", 2.0**-53, 2.0**-1022, 1.7976931348623157e308),
    "float32": Format("float32", 2.0**-24, 2.0**-126, 3.4028234663852886e38),
    "bfloat16": Format("bfloat16", 2.0**-8, 2.0**-126, 3.3895313892515355e38),
    "float16": Format("float16", 2.0**-11, 2.0**-24, 65504.0),
}
"""``float16`` keeps subnormals everywhere, so its ``tiny`` is the smallest subnormal."""

ACCUMULATION = {"float64": "float64", "float32": "float32", "bfloat16": "float32", "float16": "float32"}
"""The type in which sums and functions run when ``intermediates = accumulate``."""


@dataclass(frozen=True)
class Precision:
    """How an implementation rounds: ``operations`` for every operation, ``storage`` for outputs and stored lines."""

    operations: Format
    storage: Format

    @classmethod
    def of(cls, dtype: str, intermediates: str = "accumulate") -> Precision:
        """The precision model of an implementation whose tensors have ``dtype``.

        Raises:
            ValueError: a type that is not one of :data:`FORMATS`.
        """
        if dtype not in FORMATS:
            raise ValueError(f"precision of {dtype!r} is not modelled; known types: {', '.join(FORMATS)}")
        operations = ACCUMULATION[dtype] if intermediates == "accumulate" else dtype
        return cls(FORMATS[operations], FORMATS[dtype])


FUNCTION_ROUNDINGS = 4
"""Roundings charged to an elementary function, a division or a root: fast vector libraries promise 1 to 2 ulp, that is up
to 4 unit roundoffs; a quotient may be formed as a product with a rounded reciprocal."""

ERF_ROUNDINGS = 20
"""Roundings of 1 charged to the error function, however small it is: libraries offer it to 1 ulp, and fused kernels to a number
of roundoffs in all (the GELU of torch on a CPU takes it from 1 in small and in strided tensors: its erf was found up to 12 unit
roundoffs away, and 9 where it is 0.03)."""

SUM_SLACK = 4
"""Roundings charged to every term of a sum beyond the additions: a factor outside the sum (a scale split between both
operands of a product, a reciprocal of a size) may be applied to its terms instead."""

DISTRIBUTED_ROUNDINGS = 1
"""Roundings charged to each term of ``a + b`` beside that of the result: ``(x − μ)·s + β`` may be formed as
``x·s + (β − μ·s)``, a factor outside applied to each term and the terms added in another order."""

POWER_ROUNDINGS = 3
"""Roundings charged to the exponent of a power ``b**y``: formed as ``exp(y·ln b)``, as ``pow`` or in steps."""
