import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.conv2 = nn.Conv2d(4, 8, 3, padding=1)
        self.fc = nn.Linear(8, 3)
        self.feature_map = None

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(x, 2)
        self.feature_map = F.relu(self.conv2(x))
        self.feature_map.retain_grad()
        return self.fc(self.feature_map.mean(dim=(2, 3)))


def class_activation(model):
    grads = model.feature_map.grad
    if grads is None:
        return None
    weights = grads.mean(dim=(2, 3), keepdim=True)
    return F.relu((weights * model.feature_map).sum(1)).detach()


net = ConvNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
maps = []
for step in range(4):
    images = torch.rand(6, 1, 12, 12)
    labels = torch.arange(6) % 3
    logits = net(images)
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    heat = class_activation(net)
    if heat is not None:
        maps.append(heat)
    print(f"step {step} loss {loss.item():.4f} maps so far {len(maps)}")
