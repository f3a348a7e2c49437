"""Times of single examples vary too much on a shared machine for a deadline."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("regex", deadline=None)
settings.load_profile("regex")
