import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(17)
torch.set_num_threads(1)


class MeanTeacher:
    """Exponential moving average of a student's weights."""

    def __init__(self, student, decay=0.95):
        self.student = student
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in student.named_parameters()}

    def update(self):
        for name, param in self.student.named_parameters():
            self.shadow[name] = self.decay * self.shadow[name] + (1 - self.decay) * param

    @torch.no_grad()
    def predict(self, x):
        return functional_call(self.student, self.shadow, (x,))


def blobs(n):
    y = torch.randint(0, 3, (n,))
    centers = torch.tensor([[0.0, 2.0], [1.7, -1.0], [-1.7, -1.0]])
    return centers[y] + torch.randn(n, 2), y


student = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 3))
teacher = MeanTeacher(student)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)
labeled_x, labeled_y = blobs(30)

for step in range(150):
    unlabeled, _ = blobs(64)
    optimizer.zero_grad()
    supervised = F.cross_entropy(student(labeled_x), labeled_y)
    target = teacher.predict(unlabeled).softmax(dim=1)
    noisy = unlabeled + 0.1 * torch.randn_like(unlabeled)
    consistency = F.mse_loss(student(noisy).softmax(dim=1), target)
    ramp = min(1.0, step / 50)
    loss = supervised + 2.0 * ramp * consistency
    loss.backward()
    optimizer.step()
    teacher.update()
    if step % 30 == 0:
        print(step, round(supervised.item(), 4), round(consistency.item(), 5))

test_x, test_y = blobs(400)
print("teacher accuracy", (teacher.predict(test_x).argmax(1) == test_y).float().mean().item())
