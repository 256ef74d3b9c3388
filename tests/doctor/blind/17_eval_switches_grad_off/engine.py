import torch
import torch.nn.functional as F


def accuracy(logits, target):
    return (logits.argmax(1) == target).float().mean().item()


def train_one_epoch(model, optimizer, batches, log_every=4):
    model.train()
    seen, running = 0, 0.0
    for i, (x, y) in enumerate(batches):
        optimizer.zero_grad(set_to_none=True)
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(x)
        seen += len(x)
    return running / seen


def evaluate(model, batches):
    model.eval()
    torch.set_grad_enabled(False)
    accs = []
    for x, y in batches:
        accs.append(accuracy(model(x), y))
    return sum(accs) / len(accs)
