"""The truth about a log: what a cache would bring, and what keeps equal questions apart."""
