"""Grammars of configuration languages."""

from __future__ import annotations
