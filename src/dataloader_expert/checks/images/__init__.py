"""Images, and their masks, boxes and key points."""
