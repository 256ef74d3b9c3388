"""Feature distillation: a forward hook collects the hidden features of teacher and student."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def build(width):
    return nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))


class FeatureTap:
    def __init__(self, model, layer):
        self.outputs = []
        model[layer].register_forward_hook(self.save)

    def save(self, module, args, output):
        self.outputs.append(output)

    @property
    def last(self):
        return self.outputs[-1]


class Distiller:
    def __init__(self, teacher, student, temperature=3.0):
        self.teacher, self.student, self.T = teacher.eval(), student, temperature
        self.tap_t, self.tap_s = FeatureTap(teacher, 3), FeatureTap(student, 3)
        self.adapt = nn.Linear(64, 128)
        self.opt = torch.optim.Adam([*student.parameters(), *self.adapt.parameters()], lr=2e-3)

    def step(self, x, y):
        with torch.no_grad():
            t_logits = self.teacher(x)
        s_logits = self.student(x)
        kd = F.kl_div(F.log_softmax(s_logits / self.T, 1), F.softmax(t_logits / self.T, 1), reduction="batchmean")
        hint = F.mse_loss(self.adapt(self.tap_s.last), self.tap_t.last)
        loss = F.cross_entropy(s_logits, y) + self.T ** 2 * kd + hint
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


teacher, student = build(128), build(64)
x = torch.randn(512, 32)
y = (x @ torch.randn(32, 10)).argmax(1)
opt_t = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for _ in range(40):
    opt_t.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    opt_t.step()

distiller = Distiller(teacher, student)
for epoch in range(8):
    for idx in torch.randperm(512).split(32):
        value = distiller.step(x[idx], y[idx])
    print(f"epoch {epoch} loss {value:.3f}")
