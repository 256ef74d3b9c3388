import torch
from finetune import Schedule
from net import Classifier


def main():
    torch.manual_seed(0)
    model = Classifier()
    schedule = Schedule(model, unfreeze_at=2)
    data = torch.randn(48, 1, 8, 8)
    labels = (data.mean(dim=(1, 2, 3)) > 0).long()
    for epoch in range(4):
        schedule.start_epoch(epoch)
        total = 0.0
        for i in range(0, 48, 16):
            logits = model(data[i:i + 16])
            loss = torch.nn.functional.cross_entropy(logits, labels[i:i + 16])
            schedule.optimizer.zero_grad()
            loss.backward()
            schedule.optimizer.step()
            total += loss.item()
        print(epoch, round(total / 3, 4))


if __name__ == "__main__":
    main()
