"""The life of a graph as facts: where it was made, what freed it, and what to say about it."""
