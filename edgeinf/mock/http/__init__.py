"""HTTP/1.1 with control over every byte: reading requests, playing planned answers."""
