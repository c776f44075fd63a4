"""What was found, for its readers: tables, a page, a JSON document, JUnit's XML, a short script; and a formula as text."""
