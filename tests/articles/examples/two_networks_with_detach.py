import torch
import torch.nn as nn

net1 = nn.Linear(10, 5)
input1 = torch.randn(1, 10)
output1 = net1(input1)
loss1 = output1.mean()
loss1.backward()

net2 = nn.Linear(5, 2)
input2 = torch.randn(1, 5)
output2 = net2(input2.detach())
loss2 = output2.mean()
loss2.backward()
