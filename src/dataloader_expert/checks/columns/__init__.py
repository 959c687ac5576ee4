"""Numbers and categories: statistics, outliers, units, scales, notations, columns made of others."""
