"""The report as a page: one HTML file without script or request, its charts drawn from the result and nothing else."""
