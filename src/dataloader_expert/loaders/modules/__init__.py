"""Data modules: the training and validation loaders of one data set, of whatever kind."""
