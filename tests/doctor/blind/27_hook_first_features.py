import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(51)


class FeatureTap:
    """Collects the outputs of some layers by forward hooks."""

    def __init__(self, model, names):
        self.out = {}
        modules = dict(model.named_modules())
        self.handles = [modules[n].register_forward_hook(self._hook(n)) for n in names]

    def _hook(self, name):
        def fn(module, inputs, output):
            self.out.setdefault(name, output)
        return fn

    def close(self):
        for h in self.handles:
            h.remove()


def make_net(width):
    return nn.Sequential(
        nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, 3))


teacher, student = make_net(64), make_net(16)
for p in teacher.parameters():
    p.requires_grad_(False)
teacher_tap, student_tap = FeatureTap(teacher, ["3"]), FeatureTap(student, ["3"])
opt = torch.optim.Adam(student.parameters(), lr=3e-3)


def distill_step(x, T=2.0, beta=0.5):
    with torch.no_grad():
        t_logits = teacher(x)
    s_logits = student(x)
    kd = F.kl_div(F.log_softmax(s_logits / T, 1), F.softmax(t_logits / T, 1), reduction="batchmean") * T * T
    feat = F.mse_loss(student_tap.out["3"], teacher_tap.out["3"])
    loss = kd + beta * feat
    opt.zero_grad()
    loss.backward()
    opt.step()
    return kd.item(), feat.item()


for step in range(150):
    x = torch.randn(64, 8)
    kd, feat = distill_step(x)
    if step % 50 == 0:
        print(f"step {step} kd {kd:.4f} feat {feat:.4f}")

teacher_tap.close()
student_tap.close()
with torch.no_grad():
    x = torch.randn(500, 8)
    print("agreement", (teacher(x).argmax(1) == student(x).argmax(1)).float().mean().item())
