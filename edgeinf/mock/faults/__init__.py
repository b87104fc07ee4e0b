"""What can go wrong with an answer. ``table.py`` lists every fault; the other files hold the functions."""
