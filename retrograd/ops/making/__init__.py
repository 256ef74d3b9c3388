"""Functions that make tensors from data and sizes, and convert them; their memory and types."""
