"""Static charts: pure functions from plain values to a drawing and its data table. Standard library only."""
