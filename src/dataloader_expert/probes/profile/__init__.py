"""Where a sample's time goes: timers and stacks inside the loading processes."""
