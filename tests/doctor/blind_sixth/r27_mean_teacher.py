"""Mean teacher for semi supervised classification."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def build():
    return nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))


def blobs(n):
    centers = torch.tensor([[0., 2.], [-2., -1.], [2., -1.]])
    y = torch.randint(0, 3, (n,))
    return centers[y] + 0.6 * torch.randn(n, 2), y


def update_teacher(student, teacher, step, alpha=0.99):
    alpha = min(1 - 1 / (step + 1), alpha)
    for p_t, p_s in zip(teacher.parameters(), student.parameters()):
        p_t.mul_(alpha).add_(p_s, alpha=1 - alpha)


def consistency(student_logits, teacher_logits):
    return F.mse_loss(student_logits.softmax(1), teacher_logits.softmax(1))


student, teacher = build(), build()
teacher.load_state_dict(student.state_dict())
optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)

x_lab, y_lab = blobs(12)
x_unl, _ = blobs(300)
x_test, y_test = blobs(300)

for step in range(60):
    noisy_a = x_unl + 0.1 * torch.randn_like(x_unl)
    noisy_b = x_unl + 0.1 * torch.randn_like(x_unl)
    with torch.no_grad():
        target = teacher(noisy_b)
    weight = min(1.0, step / 30)
    loss = F.cross_entropy(student(x_lab), y_lab) + weight * consistency(student(noisy_a), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update_teacher(student, teacher, step)
    if step % 20 == 0:
        print(f"{step} loss {loss.item():.3f}")

teacher.eval()
with torch.no_grad():
    print("teacher accuracy", (teacher(x_test).argmax(1) == y_test).float().mean().item())
