"""Proofs: what has to be trusted for a theorem to be called proved, room by room.

A step is accepted when the difference of its two sides, read as terms, is shown to vanish or to have the right sign. No small
kernel checks the whole of that afterwards: most of what follows decides, and a fault in it could let a false step through.

**What decides, and why it may.** Trees are elaborated first (`spec.language.elaboration`): what lines and abbreviations define
is replaced by what it means, so that inputs and what is given are all that is left; this is checked (`wellformed`). `reading`
says what a tree means, and asks whether it is defined; it follows the semantics of the language, as compiled programs do.
`terms` adds, multiplies and substitutes: arithmetic of polynomials, which is tested against FLINT's. `rules` rewrites by laws
that hold for every value of what stands in them; the register names each, and tests evaluate both sides of its law.
`knowledge` uses a fact only where it was assumed, and a certificate of linear reasoning only after adding it up again
(`certificates`, which shares nothing with the search). `signs` follows the rules of signs for sums, products and monotone
functions; a sign found under conditions is kept together with all of them. `deciding` puts steps into chains and inductions:
the first value, then the next wherever it holds at one.

**What only searches.** Which inequalities to combine (`linear`), which index to try as a witness, which estimate, condition
or denominator to take next, how deep to go (`limits`). A bad choice leaves a step undecided, never decided wrongly: an index
that was found is put in and its conditions are decided like any others.

**What stands beside it.** `evaluating` is the guard. It knows none of the rules: both sides of a claim, and every line of its
derivation, are enclosed in rigorous balls, at sizes, inputs and conventions that meet the hypotheses; what they contradict, or
do not see often enough under each choice of conventions, is not called proved. It shares with the prover only the elaborated
trees. A thousand false claims, written to deceive, are refused by the prover with the guard switched off (`tests/attack`).
"""
