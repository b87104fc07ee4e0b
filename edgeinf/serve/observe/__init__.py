"""What the server says of itself: events, metrics, the dashboard."""
