#!/usr/bin/env python
# coding: utf-8

# # Gradient descent, by hand and by optimizer
#
# Run the cells from top to bottom. (The plots are left out of this export.)

# In[1]:


import torch
from torch import nn
import torch.nn.functional as F
import numpy as np
# get_ipython().run_line_magic('matplotlib', 'inline')

torch.set_printoptions(precision=3, sci_mode=False, linewidth=90)
torch.manual_seed(2021)


def display(x):
    print(repr(x))


# In[2]:


x = torch.linspace(-3, 3, 60)[:, None]
y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
display(x[:5])
display(y.shape)
display(y.T[:, :12])


# ## By hand

# In[3]:


W1 = torch.randn(1, 20) * 0.8
b1 = torch.zeros(20)
W2 = torch.randn(20, 1) * 0.3
b2 = torch.zeros(1)
params = [W1, b1, W2, b2]
for p in params:
    p.requires_grad_()
display(W1)
display(b2)


# In[4]:


def net(x):
    h = (x @ W1 + b1).tanh()
    return h @ W2 + b2


pred = net(x)
loss = ((pred - y) ** 2).mean()
display(loss)
display(pred[:3])


# In[5]:


loss.backward()
display(W2.grad.squeeze())
display(b2.grad)
display(pred.grad_fn.name())
display([f.name() for f, _ in loss.grad_fn.next_functions])


# In[6]:


losses = []
for i in range(300):
    loss = ((net(x) - y) ** 2).mean()
    for p in params:
        p.grad = None
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= 0.1 * p.grad
    losses.append(loss.item())
print("step  loss by hand")
for i, l in list(enumerate(losses))[::60]:
    print(f"{i:4d}  {l:.4f}")
print(np.round(losses[-3:], 3))


# ## The same with torch.nn

# In[7]:


model = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
with torch.no_grad():
    for p, q in zip(model.parameters(), [W1.T, b1, W2.T, b2]):
        p.copy_(q)
display(model)
F.mse_loss(model(x), y)


# In[8]:


opt = torch.optim.Adadelta(model.parameters(), lr=0.1)
opt


# In[9]:


for i in range(200):
    opt.zero_grad()
    l = F.mse_loss(model(x), y)
    l.backward()
    opt.step()
    if i % 50 == 0:
        print(i, l)


# In[10]:


{k: v.norm() for k, v in model.state_dict().items()}


# In[11]:


# which hidden units do the work?
contribution = (model[2].weight.abs() * torch.tanh(model[0](x)).abs().mean(0)).squeeze().detach()
order = contribution.argsort(descending=True)
display(contribution[order][:8])
display(torch.stack([contribution.min(), contribution.max()]).numpy().round(2))
assert (contribution[order].diff() <= 0).all()


# In[12]:


residual = (model(x) - y).detach().view(6, 10)
display(residual)
display(residual.abs() > 0.2)
print("residuals by segment:", [f"{v:.3f}" for v in residual.std(dim=1)])


# In[13]:


print(
    torch.quantile(residual, torch.tensor([0.05, 0.5, 0.95])),
    torch.histc(residual, bins=5, min=-0.5, max=0.5),
)
del model, opt
