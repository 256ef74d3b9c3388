"""The parts of `gradcheck`: numerical and analytical Jacobians, comparisons, further checks."""
