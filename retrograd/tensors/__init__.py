"""Tensors besides ops: made from data and sizes, converted, shown, pickled, laid out in memory."""
