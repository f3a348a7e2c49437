"""The demo model's training corpus: an infinite stream that this package generates from a seed."""
