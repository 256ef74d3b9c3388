"""Tensors as people and files see them: printed and pickled."""
