"""What statements and theorems have to be, to mean anything: refused when made, in one line that names the place."""
