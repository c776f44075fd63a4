"""Accuracy grades: errors at the sizes of real models, beside careful arithmetic's, and where digits are lost."""
