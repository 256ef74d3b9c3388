import enum

import torch
import torch.nn as nn
import torch.nn.functional as F


class Phase(enum.Enum):
    LABELS = "labels"
    DISTILL = "distill"


def mlp(width):
    return nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 4))


class Session:
    def __init__(self, teacher, student, temperature=2.0):
        self.teacher = teacher.requires_grad_(False).eval()
        self.student = student
        self.temperature = temperature
        self.optimizer = torch.optim.SGD(student.parameters(), lr=0.1)

    def run_batch(self, phase, x, y):
        self.optimizer.zero_grad()
        logits = self.student(x)
        match phase:
            case Phase.LABELS:
                loss = F.cross_entropy(logits, y)
                loss.backward()
            case Phase.DISTILL:
                soft = F.softmax(self.teacher(x) / self.temperature, dim=1)
                loss = F.kl_div(
                    F.log_softmax(logits / self.temperature, dim=1), soft, reduction="batchmean"
                )
                loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(0)
    session = Session(mlp(64), mlp(16))
    shown = {phase: 0.0 for phase in Phase}
    for it in range(24):
        phase = Phase.DISTILL if it % 4 == 3 else Phase.LABELS
        x = torch.randn(64, 6)
        y = session.teacher(x).argmax(1)
        shown[phase] = session.run_batch(phase, x, y)
        if it % 8 == 7:
            print(it, {phase.value: round(value, 4) for phase, value in shown.items()})


if __name__ == "__main__":
    main()
