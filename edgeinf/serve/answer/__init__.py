"""What becomes of answers on their way out: the same for stream and whole, from the origin and from the cache."""
