"""The array library below the tensors: everything that knows how numbers are stored."""
