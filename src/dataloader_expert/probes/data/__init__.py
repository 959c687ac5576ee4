"""The data: layout and one pass over the samples."""
