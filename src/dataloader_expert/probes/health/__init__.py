"""What is wrong with a loader, seen before and while workers run."""
