"""What the data are: layout and one pass over the samples."""
