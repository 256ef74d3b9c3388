"""Wrong calls of public functions on both libraries: what is refused, and in which words."""
