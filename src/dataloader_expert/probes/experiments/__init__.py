"""One change each, run beside what stands: what it would gain."""
