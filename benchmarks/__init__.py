"""Measurements of structkit, each runnable as `python -m benchmarks.NAME`; `README.md` says how and what came out."""
