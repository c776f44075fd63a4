"""The named rules of rewriting, each with the sentence that derivations and pages show.

Each has a law, a pair of trees that it makes equal: in the tests both sides are evaluated at random sizes, and the normal form
brings them to the same term by using the rule (``tests/spec/language/proving/laws.py``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """A rule: its name, and the sentence shown in derivations."""

    name: str
    sentence: str


_SENTENCES = {
    "unfold": "A call is replaced by the formula's lines, its inputs by the arguments.",
    "linearity": (
        "A sum of sums is the sum of the terms: Σ (f + g) = Σ f + Σ g; sums over one range agree when "
        "their terms do."
    ),
    "constants": "A factor free of the index is taken out of a sum: Σ c·f = c·Σ f.",
    "swap": (
        "The order of sums does not matter: Σ_i Σ_j f = Σ_j Σ_i f; nested sums are one sum over both indices."
    ),
    "independent": "A sum of products over separate indices is the product of the sums.",
    "collapse": (
        "A sum against a Kronecker delta picks one term, provided the index is in range: Σ_j δ(j,i) "
        "f(j) = f(i)."
    ),
    "reindex": "A permutation of the indices does not change a sum over all of them: Σ_j f(π(j)) = Σ_j f(j).",
    "parity": "A sum is the sum over the even indices plus the sum over the odd ones.",
    "blocks": "A sum over h·d indices is the sum over h blocks of the sum over the d places in each.",
    "split_range": "A sum over a range is the sum over its part below a bound plus the sum over the rest.",
    "alone": "A sum over a range of one index is its term: Σ_{j=i}^{i} f(j) = f(i).",
    "count": "Σ 1 over a range is its number of indices.",
    "empty": "A sum over an empty range is 0.",
    "decided": "A condition that the ranges, sizes and assumptions decide is replaced by its truth value.",
    "cases": "Case distinction: χ f(x) + (1-χ) f(y) is f of x where the condition holds and of y where it fails.",
    "exponents": "eˣ·eʸ = eˣ⁺ʸ, e⁰ = 1, 1/eˣ = e⁻ˣ.",
    "powers": "A positive base to a power is an exponential: bʸ = e^(y ln b).",
    "angles": "sin(x+y) = sin x cos y + cos x sin y and cos(x+y) = cos x cos y - sin x sin y.",
    "pythagoras": "sin² + cos² = 1.",
    "roots": "√x·√x = x and √(x y) = √x √y for numbers that are at least 0.",
    "reciprocals": "A reciprocal is spread over factors: 1/(x y) = 1/x · 1/y.",
    "cancel": "x/x = 1, once x ≠ 0 is known.",
    "clear": (
        "Two fractions agree when their products with the denominators do, once these are known to be "
        "nonzero."
    ),
    "derivative": (
        "Derivatives term by term, ∂x_a/∂x_b = δ(a,b), product and chain rule; bound indices are "
        "renamed apart first."
    ),
    "expectation": "Expectation is linear.",
    "moments": "Independent entries of mean 0 and variance 1: E x_a = 0, E x_a x_b = δ(a,b).",
    "largest": (
        "What is the same for all is taken out of a maximum, max (f + a) = max f + a, and a factor of at least 0, max c·f = "
        "c·max f; a permutation of all does not change it."
    ),
    "member": "A member is at most the maximum.",
    "attained": "A maximum is one of its members: what holds whichever of them it is holds of it.",
    "squeezed": "What is at most 0 and at least 0 is 0.",
    "logistic": "σ(x) = 1/(1 + e⁻ˣ), and tanh x = 2·σ(2x) − 1.",
    "signs": "A sum of terms that are at least 0 is at least 0; so are squares, and exponentials are positive.",
    "rename": "A bound index may be renamed: Σ_j f(j) = Σ_l f(l), when nothing is captured.",
    "shift": "A range may be shifted: Σ_{j=a}^{b} f(j) = Σ_{j=0}^{b-a} f(j+a).",
    "witness": (
        "Where some index is permitted, one may be named; a condition on some index holds where it "
        "holds for a known one."
    ),
    "permuted": "A permutation is one to one: π(i) = π(j) exactly where i = j.",
    "bounded": (
        "Sines and cosines lie between -1 and 1, hyperbolic tangents, error functions and sigmoids "
        "strictly, so |x·sin y| ≤ |x|."
    ),
    "odd": "The hyperbolic tangent and the error function are odd: tanh(−x) = −tanh x, erf(−x) = −erf x.",
    "absolute": "|x y| = |x| |y|.",
    "absolute_cases": "|x| is x or -x.",
    "tangent": "eˣ is at least 1 + x.",
    "monotone": "For positive numbers, x <= y exactly where ln x <= ln y.",
    "recurrence": "A state of a recurrence is what its definition makes of the states before it, one step at a time.",
    "hypothesis": "What is known for every index in a range, shown by induction or assumed, is used at one of them.",
    "triangle": "The absolute value of a sum is at most the sum of the absolute values.",
    "logarithms": "The logarithm of a product of positive numbers is the sum of theirs: ln(x·y) = ln x + ln y.",
    "factor": "The sign of a product is the product of the signs of its factors, a common factor taken out first.",
    "part": "A sum of terms that are at least 0 is at least each of them.",
}
RULES = {name: Rule(name, sentence) for name, sentence in _SENTENCES.items()}
