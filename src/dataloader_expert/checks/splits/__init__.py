"""What differs between splits, and what is in several of them."""
