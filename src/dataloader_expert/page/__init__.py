"""The report as a page: one HTML file without scripts or network requests; charts are drawn from the result alone."""
