import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(70)
torch.set_num_threads(1)


def mlp(i, o, out_act=nn.Identity):
    return nn.Sequential(nn.Linear(i, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, o), out_act())


class Agent:
    def __init__(self, s_dim=3, a_dim=1, lr=2e-3):
        self.pi, self.q = mlp(s_dim, a_dim, nn.Tanh), mlp(s_dim + a_dim, 1)
        self.pi_opt = torch.optim.Adam(self.pi.parameters(), lr=lr)
        self.q_opt = torch.optim.Adam(self.q.parameters(), lr=lr)

    def value(self, s, a):
        return self.q(torch.cat([s, a], 1)).squeeze(1)

    def act(self, s, noise=0.3):
        with torch.no_grad():
            a = self.pi(s)
            return (a + noise * torch.randn_like(a)).clamp(-1, 1)

    def update(self, s, a, r):
        self.q_opt.zero_grad()
        self.pi_opt.zero_grad()
        q_loss = F.mse_loss(self.value(s, a), r)
        q_loss.backward()

        pi_loss = -self.value(s, self.pi(s)).mean()
        pi_loss.backward()

        self.q_opt.step()
        self.pi_opt.step()
        return q_loss.item(), -pi_loss.item()


def environment(s, a):
    return -(a.squeeze(1) - torch.tanh(s.sum(1))).pow(2)


agent = Agent()
buf_s, buf_a, buf_r = [], [], []
for it in range(400):
    s = torch.randn(32, 3)
    a = agent.act(s)
    buf_s.append(s), buf_a.append(a), buf_r.append(environment(s, a))
    S, A, R = torch.cat(buf_s[-20:]), torch.cat(buf_a[-20:]), torch.cat(buf_r[-20:])
    i = torch.randint(0, len(S), (64,))
    q_loss, q_pi = agent.update(S[i], A[i], R[i])
    if it % 100 == 99:
        with torch.no_grad():
            s = torch.randn(500, 3)
            true = environment(s, agent.pi(s)).mean().item()
        print(f"iter {it} critic loss {q_loss:.4f} predicted {q_pi:.3f} actual {true:.3f}")
