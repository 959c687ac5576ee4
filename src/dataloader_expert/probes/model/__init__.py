"""What a model needs: a batch that it accepts, and the memory of a step."""
