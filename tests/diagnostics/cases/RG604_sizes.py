import retrograd as torch

weights = torch.ones(3)
images = torch.ones(4, 3)
scores = torch.func.vmap(torch.dot)(weights, images)
