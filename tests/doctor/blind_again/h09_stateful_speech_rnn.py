import torch
import torch.nn as nn
import torch.nn.functional as F


def repackage(state):
    if torch.is_tensor(state):
        return state.detach()
    return tuple(repackage(s) for s in state)


class FrameClassifier(nn.Module):
    def __init__(self, d=4, h=24, k=3):
        super().__init__()
        self.lstm = nn.LSTM(d, h, num_layers=2, batch_first=True)
        self.fc = nn.Linear(h, k)
        self.state = None

    def forward(self, frames):
        if self.state is not None:
            self.state = repackage(self.state)
        out, self.state = self.lstm(frames, self.state)
        return self.fc(out)


def recording(batch, length):
    labels = torch.randint(0, 3, (batch, length // 5)).repeat_interleave(5, 1)
    x = F.one_hot(labels, 4).float() + 0.6 * torch.randn(batch, labels.size(1), 4)
    return x, labels


def main():
    torch.manual_seed(1)
    model = FrameClassifier()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(3):
        model.state = None
        x, y = recording(6, 120)
        losses = []
        for xs, ys in zip(x.split(20, 1), y.split(20, 1)):
            opt.zero_grad()
            loss = F.cross_entropy(model(xs).flatten(0, 1), ys.flatten())
            loss.backward()
            opt.step()
            losses.append(loss.item())
        print(epoch, round(sum(losses) / len(losses), 3))


main()
