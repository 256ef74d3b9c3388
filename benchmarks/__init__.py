"""Speed of retrograd beside PyTorch, measured in one run: `python -m benchmarks --help`."""
