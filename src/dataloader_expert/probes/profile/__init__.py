"""Where a sample's time goes: clocks and stacks inside the processes that load."""
