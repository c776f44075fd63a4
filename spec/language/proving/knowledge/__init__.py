"""What is known at a place: ranges, guards, hypotheses; linear reasoning over integers."""
