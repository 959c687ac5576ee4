"""Classes, and labels that are wrong: in odd samples, stretches, groups or by one annotator."""
