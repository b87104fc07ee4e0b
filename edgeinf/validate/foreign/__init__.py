"""Other tools' configs: what is wrong with them, and what they are in ours. One tool per pair of files."""
