import retrograd as torch

x = torch.ones(3)
value, slope = torch.func.jvp(torch.sin, (x,), (x, x))
