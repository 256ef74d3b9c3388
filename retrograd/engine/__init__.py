"""The engine: nodes, what they save, views, the walk of a backward call, accumulation, modes.

The lowest room of differentiation: it knows arrays and tensors, not which ops there are. The public
`autograd` is written on top of it and of the ops.
"""
