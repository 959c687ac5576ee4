"""The search for the fastest loader settings: costs, candidates, runners, and the tests that compare them."""
