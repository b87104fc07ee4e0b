"""The proxy: an OpenAI- and Anthropic-compatible layer that answers, caches, routes and records."""
