"""What explains a falsification: other conventions, a cause, a range, sizes, or calls alone."""
