"""Which probes each tool runs, and what it concludes from their facts. Imported at a tool's first call."""
