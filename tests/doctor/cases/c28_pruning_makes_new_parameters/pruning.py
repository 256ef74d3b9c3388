from torch import nn


class MagnitudePruner:
    """Removes the smallest weights once; the survivors are fine-tuned afterwards."""

    def __init__(self, layers, start_epoch, amount):
        self.layers, self.start_epoch, self.amount = layers, start_epoch, amount

    def on_epoch_start(self, epoch):
        if epoch == self.start_epoch:
            for layer in self.layers:
                self.prune(layer)

    def prune(self, layer):
        weight = layer.weight.detach()
        threshold = weight.abs().flatten().quantile(self.amount)
        mask = (weight.abs() > threshold).float()
        layer.weight = nn.Parameter(weight * mask)
        layer.weight.register_hook(lambda g: g * mask)  # pruned weights stay at zero

    def sparsity(self):
        zeros = sum((layer.weight == 0).sum().item() for layer in self.layers)
        return zeros / sum(layer.weight.numel() for layer in self.layers)
