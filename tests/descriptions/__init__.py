"""Whether the right tool is found, and called rightly, from what a client's model is shown alone."""
