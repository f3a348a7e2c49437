"""The demo model's corpus: seeded, endless, every sentence made here."""
