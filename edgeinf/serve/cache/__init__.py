"""Where answers are kept: a tier per file, all holding the same self-proving bytes."""
