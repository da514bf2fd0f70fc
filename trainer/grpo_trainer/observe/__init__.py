"""What a run shows of itself: metrics as files, a live view, a report."""
