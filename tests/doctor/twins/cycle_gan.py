"""Generators share a backward, critics are frozen meanwhile and see a pool of older images."""

import itertools
import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)


def net(outputs=6):
    return nn.Sequential(nn.Linear(6, 12), nn.ReLU(True), nn.Linear(12, outputs))


class ImagePool:
    def __init__(self, size):
        self.size, self.images = size, []

    def query(self, images):
        found = []
        for image in images:
            image = torch.unsqueeze(image.data, 0)
            if len(self.images) < self.size:
                self.images.append(image)
                found.append(image)
            elif random.uniform(0, 1) > 0.5:
                place = random.randint(0, self.size - 1)
                older = self.images[place].clone()
                self.images[place] = image
                found.append(older)
            else:
                found.append(image)
        return torch.cat(found, 0)


class CycleGAN:
    def __init__(self):
        self.netG_A, self.netG_B = net(), net()
        self.netD_A, self.netD_B = net(1), net(1)
        self.pool_A, self.pool_B = ImagePool(10), ImagePool(10)
        both_g = itertools.chain(self.netG_A.parameters(), self.netG_B.parameters())
        both_d = itertools.chain(self.netD_A.parameters(), self.netD_B.parameters())
        self.optimizer_G = torch.optim.Adam(both_g, lr=2e-4, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(both_d, lr=2e-4, betas=(0.5, 0.999))
        self.gan, self.cycle = nn.MSELoss(), nn.L1Loss()

    def critics_learn(self, wanted):
        for critic in (self.netD_A, self.netD_B):
            for param in critic.parameters():
                param.requires_grad = wanted

    def optimize(self, real_A, real_B):
        self.fake_B = self.netG_A(real_A)
        self.rec_A = self.netG_B(self.fake_B)
        self.fake_A = self.netG_B(real_B)
        self.rec_B = self.netG_A(self.fake_A)
        self.critics_learn(False)
        self.optimizer_G.zero_grad()
        one = torch.ones(len(real_A), 1)
        loss_same = self.cycle(self.netG_A(real_B), real_B) + self.cycle(self.netG_B(real_A), real_A)
        loss_gan = self.gan(self.netD_A(self.fake_B), one) + self.gan(self.netD_B(self.fake_A), one)
        loss_cycle = self.cycle(self.rec_A, real_A) + self.cycle(self.rec_B, real_B)
        self.loss_G = loss_gan + 10 * loss_cycle + 5 * loss_same
        self.loss_G.backward()
        self.optimizer_G.step()
        self.critics_learn(True)
        self.optimizer_D.zero_grad()
        self.loss_D_A = self.backward_D(self.netD_A, real_B, self.pool_B.query(self.fake_B))
        self.loss_D_B = self.backward_D(self.netD_B, real_A, self.pool_A.query(self.fake_A))
        self.optimizer_D.step()

    def backward_D(self, critic, real, fake):
        good = self.gan(critic(real), torch.ones(len(real), 1))
        bad = self.gan(critic(fake.detach()), torch.zeros(len(fake), 1))
        loss = (good + bad) * 0.5
        loss.backward()
        return loss


model = CycleGAN()
for _ in range(14):
    model.optimize(torch.randn(4, 6), torch.rand(4, 6))
    losses = {name: float(getattr(model, "loss_" + name)) for name in ("G", "D_A", "D_B")}
print(losses)
