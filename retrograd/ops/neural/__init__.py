"""Layers as functions: activations, convolution, pooling, normalization, losses."""
