"""For training loops: steps per epoch, a loader that resumes within an epoch, throughput."""
