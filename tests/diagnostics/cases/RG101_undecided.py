import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
x = torch.ones(4, 4)


def layer(value):
    return torch.tanh(value @ W)


def step(state):
    loss = layer(state).sum()
    loss.backward()


# `layer` made the state and is also what each step puts it through.
state = layer(x)
step(state)
step(state)
