"""What a model takes: a real batch, and the memory of a step."""
