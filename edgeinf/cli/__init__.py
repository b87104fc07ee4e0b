"""The command line: one command per file, which parses, calls a feature and prints. No logic."""
