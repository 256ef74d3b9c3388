from __future__ import print_function
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable

# Training settings
parser = argparse.ArgumentParser(description='PyTorch digits example')
parser.add_argument('--batch-size', type=int, default=32, metavar='N',
                    help='input batch size for training (default: 32)')
parser.add_argument('--epochs', type=int, default=4, metavar='N',
                    help='number of epochs to train (default: 4)')
parser.add_argument('--lr', type=float, default=0.05, metavar='LR',
                    help='learning rate (default: 0.05)')
parser.add_argument('--momentum', type=float, default=0.5, metavar='M',
                    help='SGD momentum (default: 0.5)')
parser.add_argument('--no-cuda', action='store_true', default=False,
                    help='disables CUDA training')
parser.add_argument('--seed', type=int, default=1, metavar='S',
                    help='random seed (default: 1)')
parser.add_argument('--log-interval', type=int, default=4, metavar='N',
                    help='how many batches to wait before logging training status')
args = parser.parse_args()
args.cuda = not args.no_cuda and torch.cuda.is_available()

torch.manual_seed(args.seed)
if args.cuda:
    torch.cuda.manual_seed(args.seed)

dtype = torch.cuda.FloatTensor if args.cuda else torch.FloatTensor
long_dtype = torch.cuda.LongTensor if args.cuda else torch.LongTensor

# five little pictures, and noise on them
glyphs = torch.FloatTensor(5, 1, 12, 12).zero_()
glyphs[0][0, 2:10, 5:7] = 1
glyphs[1][0, 5:7, 2:10] = 1
glyphs[2][0, 3:9, 3:9] = 1
glyphs[2][0, 4:8, 4:8] = 0
for i in range(12):
    glyphs[3][0, i, i] = 1
    glyphs[4][0, i, 11 - i] = 1


def make_set(n):
    labels = torch.LongTensor([i % 5 for i in range(n)])
    images = glyphs.index_select(0, labels).clone()
    images.add_(torch.Tensor(images.size()).normal_(0, 0.4))
    return images, labels


train_images, train_labels = make_set(384)
test_images, test_labels = make_set(100)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 6, kernel_size=3)
        self.conv2 = nn.Conv2d(6, 12, kernel_size=2)
        self.conv2_drop = nn.Dropout2d()
        self.fc1 = nn.Linear(48, 24)
        self.gate = nn.Linear(48, 24)
        self.fc2 = nn.Linear(24, 5)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2_drop(self.conv2(x)), 2))
        x = x.view(-1, 48)
        x = F.tanh(self.fc1(x)) * F.sigmoid(self.gate(x))
        x = F.dropout(x, training=self.training)
        x = self.fc2(x)
        return F.log_softmax(x, dim=1)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
        m.weight.data.normal_(0.0, 0.2)
    elif classname.find('Linear') != -1:
        nn.init.xavier_uniform_(m.weight.data)
        m.bias.data.fill_(0)


model = Net()
model.apply(weights_init)
if args.cuda:
    model.cuda()

optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
# what the weights were, on average over the steps
average = {k: v.data.clone() for k, v in model.named_parameters()}


def train(epoch):
    model.train()
    order = torch.randperm(train_images.size(0)).type(long_dtype)
    for batch_idx in range(0, train_images.size(0) // args.batch_size):
        index = order.narrow(0, batch_idx * args.batch_size, args.batch_size)
        data, target = train_images[index], train_labels[index]
        if args.cuda:
            data, target = data.cuda(), target.cuda()
        data, target = Variable(data), Variable(target, requires_grad=False)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        penalty = Variable(dtype([0]))
        for p in model.parameters():
            penalty = penalty + p.pow(2).sum() * 1e-4
        (loss + penalty).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()
        for k, v in model.named_parameters():
            average[k].mul_(0.9).add_(0.1 * v.data)
        if batch_idx % args.log_interval == 0:
            print('Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.6f}\tPenalty: {:.6f}'.format(
                epoch, batch_idx * len(data), train_images.size(0),
                100. * batch_idx * args.batch_size / train_images.size(0),
                loss.data.item(), penalty.data.cpu().numpy()[0]))


def test(epoch):
    model.eval()
    current = {k: v.data.clone() for k, v in model.named_parameters()}
    for k, v in model.named_parameters():
        v.data.copy_(average[k])
    data, target = Variable(test_images), Variable(test_labels)
    output = model(data)
    test_loss = F.nll_loss(output, target, size_average=False).data.item()
    pred = output.data.max(1)[1]  # get the index of the max log-probability
    correct = pred.eq(target.data).cpu().sum()
    test_loss /= test_images.size(0)
    print('\nTest set: Average loss: {:.4f}, Accuracy: {}/{} ({:.0f}%)\n'.format(
        test_loss, correct, test_images.size(0), 100. * correct / test_images.size(0)))
    for k, v in model.named_parameters():
        v.data = current[k]


for epoch in range(1, args.epochs + 1):
    train(epoch)
    test(epoch)

# the softmax that used to warn, the criterion objects with their old switches
scores = Variable(torch.randn(3, 4).type(dtype), requires_grad=True)
criterion = nn.MSELoss(size_average=True)
elements = nn.BCELoss(reduce=False)
wanted = Variable(dtype(3, 4).fill_(0.25))
loss = criterion(F.softmax(scores, dim=1), wanted) + elements(F.sigmoid(scores), wanted).mean()
loss.backward()
print(type(scores), scores.data.type(), isinstance(scores, Variable))
print(scores.grad.data.norm(), scores.grad.volatile if hasattr(scores.grad, 'volatile') else None)
print(torch.cat([scores.data, wanted.data], 0).size(), scores.data.new(2, 2).fill_(1).sum())
