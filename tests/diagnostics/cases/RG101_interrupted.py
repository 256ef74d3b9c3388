import retrograd as torch


def stop(gradient):
    raise KeyboardInterrupt


W = torch.ones(4, 4, requires_grad=True)
h = torch.ones(4, 4) @ W
handle = h.register_hook(stop)
loss = torch.tanh(h).sum()
try:
    loss.backward()
except KeyboardInterrupt:
    handle.remove()
loss.backward()
