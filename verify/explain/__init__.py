"""What explains a falsification."""
