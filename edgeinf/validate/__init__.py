"""Say everything that is wrong or doubtful about a config, in words a person can act on."""
