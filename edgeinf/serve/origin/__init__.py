"""Everything between this server and the inference origins."""
