"""What MatAssay costs: time and memory of a step, an episode, a suite. Run ``python -m benchmarks``."""
