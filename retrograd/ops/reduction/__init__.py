"""Ops that bring elements together: sums, extremes, order, statistics."""
