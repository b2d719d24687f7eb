"""kvtui shows why paged KV-cache memory wins, on your own traffic, in your terminal."""

__version__ = "0.1.0"
