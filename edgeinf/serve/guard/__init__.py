"""What may pass: patterns that are bounded in time, personal data and secrets, client networks."""
