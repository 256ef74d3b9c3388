"""Tools for testing ops and models: samples, gradient checks, comparisons."""
