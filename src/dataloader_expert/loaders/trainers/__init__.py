"""For trainers that count steps and go on in the midst of an epoch: steps, state, throughput."""
