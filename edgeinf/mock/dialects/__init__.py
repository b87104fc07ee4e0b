"""What the mock can answer, one API per file; ``table.py`` finds the file for a request."""
