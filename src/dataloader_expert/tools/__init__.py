"""Tools, each a recipe of probes, a result model, and a pure function from facts to result."""
