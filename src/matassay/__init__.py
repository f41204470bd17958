"""MatAssay: a benchmark of what AI agents can do in materials science."""

__version__ = "0.1.0"

__all__ = ["__version__"]
