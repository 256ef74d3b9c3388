"""A skorch net that adds a value in place after its derivative has saved it."""

import numpy
import torch
from skorch import NeuralNetRegressor


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(4, 8)
        self.head = torch.nn.Linear(8, 1)

    def forward(self, x):
        features = torch.tanh(self.hidden(x))
        result = self.head(features)
        features += 1.0  # fault
        return result


class Smoothed(NeuralNetRegressor):
    average = 0.0

    def get_loss(self, y_pred, y_true, X=None, training=False):
        loss = super().get_loss(y_pred, y_true, X=X, training=training)
        self.average = 0.9 * self.average + 0.1 * loss.detach()
        return loss + 0.1 * (loss - self.average).pow(2)


torch.manual_seed(0)
x, y = numpy.random.randn(48, 4).astype("float32"), numpy.random.randn(48, 1).astype("float32")
net = Smoothed(Net, max_epochs=2, lr=0.01, batch_size=8, train_split=None, verbose=0)
net.fit(x, y)
