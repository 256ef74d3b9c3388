# A two-layer network trained with hand-written momentum and weight decay
import torch

torch.manual_seed(54)
torch.set_num_threads(1)

hidden, rate, mu, decay = 30, 0.1, 0.9, 1e-4


def new(*shape, scale=1.0):
    return (torch.randn(*shape) * scale).requires_grad_()


W1, b1 = new(2, hidden, scale=0.7), torch.zeros(hidden, requires_grad=True)
W2, b2 = new(hidden, 1, scale=hidden ** -0.5), torch.zeros(1, requires_grad=True)
params = [W1, b1, W2, b2]
speed = [torch.zeros_like(p) for p in params]

x = torch.rand(300, 2) * 2 - 1
y = torch.sin(3 * x[:, :1]) * x[:, 1:]


def forward(inputs):
    return torch.tanh(inputs @ W1 + b1) @ W2 + b2


for epoch in range(300):
    loss = (forward(x) - y).pow(2).mean()
    loss.backward()

    with torch.no_grad():
        for p, v in zip(params, speed):
            p.grad += decay * p
            v *= mu
            v += p.grad
            p -= rate * v
            p.grad = None

    if epoch == 200:
        rate *= 0.3
    if epoch % 50 == 0:
        print(f"{epoch:4d} {loss.item():.5f}")

print("end ", loss.item())
