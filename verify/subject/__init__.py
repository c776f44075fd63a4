"""What is checked: the callable as it was given, what was asked for, its calls, and what it returned or meddled with."""
