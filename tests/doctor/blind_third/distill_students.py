import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(33)


def make_net(width):
    return nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, 4))


def soft_targets_loss(student_logits, teacher_logits, T):
    """KL between softened distributions, scaled as usual by T^2."""
    log_p = F.log_softmax(student_logits.detach() / T, dim=1)
    q = F.softmax(teacher_logits / T, dim=1)
    return F.kl_div(log_p, q, reduction="batchmean") * T * T


class Distiller:
    def __init__(self, teacher, student, T=3.0, alpha=0.8):
        self.teacher, self.student = teacher, student
        self.T, self.alpha = T, alpha
        self.opt = torch.optim.Adam(student.parameters(), lr=5e-3)

    def step(self, x, y):
        s = self.student(x)
        t = self.teacher(x)
        hard = F.cross_entropy(s, y)
        soft = soft_targets_loss(s, t, self.T)
        loss = (1 - self.alpha) * hard + self.alpha * soft
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return hard.item(), soft.item()


x = torch.randn(400, 10)
y = x[:, :4].argmax(1)

teacher = make_net(64)
t_opt = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(100):
    t_opt.zero_grad(set_to_none=True)
    F.cross_entropy(teacher(x), y).backward()
    t_opt.step()
t_opt.zero_grad(set_to_none=True)

teacher.eval()
student = make_net(8)
distiller = Distiller(teacher, student)
for epoch in range(100):
    hard, soft = distiller.step(x, y)
    if epoch % 25 == 0:
        print(f"epoch {epoch:3d} hard {hard:.4f} soft {soft:.4f}")
