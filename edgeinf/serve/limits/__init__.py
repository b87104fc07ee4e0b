"""How much a caller may use: pure algorithms, the counters of one process, and what a limit asks of a call."""
