import torch


def segment_max(values, index, size):
    out = torch.full((size,), float("-inf"))
    return out.scatter_reduce(0, index, values, reduce="amax")


def segment_sum(values, index, size):
    return torch.zeros(size).index_add(0, index, values)


def segment_softmax(values, index, size):
    """Softmax over the entries that share an index."""
    shift = segment_max(values.detach(), index, size)[index]
    weights = (values - shift).exp()
    weights = weights / (segment_sum(weights, index, size)[index] + 1e-9)
    return weights
