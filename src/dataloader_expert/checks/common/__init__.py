"""What checks of several rooms share: drawing samples, sketches, digests, places."""
