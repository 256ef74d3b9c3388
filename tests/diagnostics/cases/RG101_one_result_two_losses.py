import retrograd as torch

G = torch.ones(4, 4, requires_grad=True)
D = torch.ones(4, 4, requires_grad=True)
noise = torch.ones(4, 4)


def discriminator(image):
    return torch.tanh(image @ D)


fake = torch.tanh(noise @ G)
d_loss = (fake @ D).sum()
d_loss.backward()
g_loss = discriminator(fake).sum()
g_loss.backward()
