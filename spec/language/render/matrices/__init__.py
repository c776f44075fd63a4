"""Statements in matrix form: equations between vectors and matrices, derived from the lines that are stated entry by entry."""

from spec.language.render.matrices.forms import Written as Written
from spec.language.render.matrices.forms import equations as equations
from spec.language.render.matrices.forms import length as length
from spec.language.render.matrices.forms import matrix_form as matrix_form
from spec.language.render.matrices.forms import summarise as summarise
from spec.language.render.matrices.forms import summary as summary
