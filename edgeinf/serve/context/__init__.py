"""Local documents that answer questions: split into passages, indexed, searched. No network unless vectors are on."""
