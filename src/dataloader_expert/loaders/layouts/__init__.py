"""Layouts of data sets with loaders of their own: folders of NPZ archives, and data sets of Hugging Face."""
