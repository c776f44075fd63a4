"""Vector–Jacobian products of statements, as further lines; and the first-order error bound they give."""
