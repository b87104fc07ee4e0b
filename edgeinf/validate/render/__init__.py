"""A report as text, one form per file; each is a pure function."""
