import copy

import torch
import torch.nn as nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def make_loaders():
    x = torch.randn(80, 6)
    y = (x[:, 0] * x[:, 1] > 0).long()
    sets = {"train": TensorDataset(x[:60], y[:60]), "val": TensorDataset(x[60:], y[60:])}
    return {k: DataLoader(v, batch_size=20, shuffle=False) for k, v in sets.items()}


def train_model(model, criterion, optimizer, scheduler, loaders, num_epochs=3):
    best, best_acc = copy.deepcopy(model.state_dict()), 0.0
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            model.train(phase == "train")
            running_loss, running_corrects = 0.0, 0
            for inputs, labels in loaders[phase]:
                optimizer.zero_grad()
                # track history only in one of the phases
                with torch.set_grad_enabled(phase == "val"):
                    outputs = model(inputs)
                    preds = outputs.argmax(1)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * len(inputs)
                running_corrects += (preds == labels).sum().item()
            if phase == "train":
                scheduler.step()
            size = len(loaders[phase].dataset)
            acc = running_corrects / size
            print(f"{epoch} {phase} loss {running_loss / size:.4f} acc {acc:.3f}")
            if phase == "val" and acc > best_acc:
                best, best_acc = copy.deepcopy(model.state_dict()), acc
    model.load_state_dict(best)
    return model


net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
train_model(net, nn.CrossEntropyLoss(), sgd, lr_scheduler.StepLR(sgd, 2, 0.5), make_loaders())
