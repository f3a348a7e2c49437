"""Benchmarks of structkit, each run as `python -m benchmarks.NAME`; `README.md` has methods and results."""
