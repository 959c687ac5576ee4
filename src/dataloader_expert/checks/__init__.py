"""One property of the samples each (see ``base``)."""
