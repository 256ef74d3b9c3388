from torch import nn


class Net(nn.Module):
    def __init__(self, width=18):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, width), nn.Dropout(0.1), nn.ReLU(), nn.Linear(width, 3))

    def forward(self, x):
        return self.layers(x)


def consistency(logits, target):
    return (logits.softmax(-1) - target).square().sum(-1).mean()
