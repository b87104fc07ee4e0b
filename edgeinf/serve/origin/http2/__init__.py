"""HTTP/2 to origins: many requests over one connection, a stream for each (RFC 9113)."""
