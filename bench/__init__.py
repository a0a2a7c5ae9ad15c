"""Speed and size, as ratios measured in one run."""
