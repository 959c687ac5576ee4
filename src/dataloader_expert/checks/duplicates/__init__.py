"""Samples that occur more than once, exactly or nearly, and events that were logged twice."""
