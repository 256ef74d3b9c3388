import torch
import torch.nn as nn
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    x, y = torch.randn(6, 4, requires_grad=True), torch.randint(0, 2, (6,))
    clean = nn.functional.cross_entropy(net(x), y)
    (g,) = torch.autograd.grad(clean, x, retain_graph=True)
    adversarial = x + 0.1 * g.sign()
    loss = clean + nn.functional.cross_entropy(net(adversarial.detach()), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
