"""One tree of sections, tables and charts, and one writer per output."""
