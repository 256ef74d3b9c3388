import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def train_model(model, loaders, criterion, optimizer, epochs=12, patience=4):
    best, best_weights, waited = float("inf"), None, 0
    for epoch in range(epochs):
        for phase in ("train", "val"):
            model.train(phase == "train")
            running_loss = 0.0
            for inputs, labels in loaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
            epoch_loss = running_loss / len(loaders[phase].dataset)
        if epoch_loss < best:
            best, waited = epoch_loss, 0
            best_weights = copy.deepcopy(model.state_dict())
        else:
            waited += 1
        if epoch % 3 == 2:
            print(f"epoch {epoch} val loss {epoch_loss:.4f}")
        if waited > patience:
            break
    model.load_state_dict(best_weights)
    return model


@torch.inference_mode()
def predict(model, x):
    return model.eval()(x).softmax(1)


def main():
    torch.manual_seed(0)
    y = torch.randint(0, 3, (180,))
    x = torch.randn(180, 6) + 1.2 * torch.eye(3, 6)[y]
    loaders = {
        "train": DataLoader(TensorDataset(x[:140], y[:140]), batch_size=20),
        "val": DataLoader(TensorDataset(x[140:], y[140:]), batch_size=20),
    }
    model = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    train_model(model, loaders, nn.CrossEntropyLoss(), optimizer)
    print("mean confidence", round(predict(model, x[140:]).amax(1).mean().item(), 3))


if __name__ == "__main__":
    main()
