"""Fields and marks that give the label away."""
