"""Levels of forward mode and of `vmap`: what a tensor in one is, and how ops run on it.

`autograd.forward_ad` and `func` are the public faces of both.
"""
