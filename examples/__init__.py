"""Things to run: small models trained in minutes with ``impl``, each by one command that prints what it found."""
