import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(4)
torch.set_num_threads(1)


class SmallNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.fc = nn.Linear(24, num_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def load_pretrained():
    net = SmallNet()
    state = {k: v + 0.01 * torch.randn_like(v) for k, v in net.state_dict().items()}
    net.load_state_dict(state)
    return net


def get_data(classes=5, n=400):
    protos = torch.randn(classes, 16)
    labels = torch.arange(n) % classes
    return protos[labels] + 0.7 * torch.randn(n, 16), labels


def setup(num_classes):
    model = load_pretrained()
    optimizer = torch.optim.SGD(
        [
            {"params": model.features.parameters(), "lr": 1e-3},
            {"params": model.fc.parameters(), "lr": 5e-2},
        ],
        momentum=0.9,
    )
    scheduler = StepLR(optimizer, step_size=15, gamma=0.5)
    model.fc = nn.Linear(model.fc.in_features, num_classes)
    return model, optimizer, scheduler


x, y = get_data()
model, optimizer, scheduler = setup(5)
criterion = nn.CrossEntropyLoss()
initial = model.fc.weight.detach().clone()
for epoch in range(20):
    total = 0.0
    for i in torch.randperm(len(x)).split(40):
        optimizer.zero_grad()
        loss = criterion(model(x[i]), y[i])
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    if epoch % 5 == 0 or epoch == 19:
        moved = (model.fc.weight.detach() - initial).norm().item()
        print(f"epoch {epoch} loss {total / 10:.4f} head moved {moved:.3f}")
