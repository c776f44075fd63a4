"""What was found, for its readers: tables, a page, a JSON document, scripts that reproduce it; and a formula as text."""
