"""The layer in front of any LLM inference endpoint, and an honest measure of what it is worth."""

__all__ = ["__version__"]

__version__ = "0.1.0"
