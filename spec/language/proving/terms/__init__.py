"""What the prover calculates with: polynomials over atoms, replacement and binders in them, writing them back as trees."""
