"""What every feature shares: calls, keys, policies, events. It does no network and knows no feature."""
