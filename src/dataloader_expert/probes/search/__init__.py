"""Which loader settings are fastest: costs, candidates, runners, and the tests that compare them."""
