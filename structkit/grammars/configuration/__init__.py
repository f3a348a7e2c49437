"""Grammars of configuration languages."""
