import torch
import torch.nn.functional as F


class Client:
    def __init__(self, x, y, epochs=2, lr=0.2):
        self.x, self.y = x, y
        self.epochs, self.lr = epochs, lr

    def __len__(self):
        return len(self.x)

    def train(self, model):
        opt = torch.optim.SGD(model.parameters(), lr=self.lr)
        for _ in range(self.epochs):
            for rows in torch.randperm(len(self.x)).split(16):
                loss = F.cross_entropy(model(self.x[rows]), self.y[rows])
                opt.zero_grad()
                opt.step()
                loss.backward()
        return model


def make_clients(n_clients):
    teacher = torch.randn(6, 3)

    def draw(n, shift):
        x = torch.randn(n, 6) + shift
        return x, (x @ teacher).argmax(1)

    clients = [Client(*draw(40 + 20 * i, 0.4 * torch.randn(6))) for i in range(n_clients)]
    return clients, draw(200, torch.zeros(6))
