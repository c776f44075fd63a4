"""What scripts are made of that need nothing of ours: values as text, names, and copies of source with all that they speak of."""
