"""The folders of archives, and the image data sets, that the first generation of loaders read."""
