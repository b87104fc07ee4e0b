"""What several processes and nodes share: limits, flights, figures, and the word that an answer is to be forgotten."""
