import torch

torch.manual_seed(0)


def init(sizes):
    layers = []
    for fan_in, fan_out in zip(sizes, sizes[1:]):
        weight = torch.randn(fan_in, fan_out) * fan_in**-0.5
        layers.append((weight.requires_grad_(), torch.zeros(fan_out, requires_grad=True)))
    return layers


def predict(layers, x):
    *hidden, (weight, bias) = layers
    for w, b in hidden:
        x = torch.tanh(x @ w + b)
    return x @ weight + bias


def sgd(layers, velocity, lr=0.05, momentum=0.8):
    with torch.no_grad():
        for index, p in enumerate(p for layer in layers for p in layer):
            v = velocity.get(index)
            v = p.grad.clone() if v is None else v.mul_(momentum).add_(p.grad)
            velocity[index] = v
            p -= lr * v
            p.grad = None


layers = init([1, 20, 20, 1])
velocity = {}
x = torch.linspace(-2, 2, 80).unsqueeze(1)
y = x * torch.cos(2 * x)
curve = []
for step in range(120):
    loss = (predict(layers, x) - y).square().mean()
    loss.backward()
    sgd(layers, velocity)
    curve.append(loss.detach())
print("start", round(curve[0].item(), 4), "end", round(curve[-1].item(), 4))
