import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(40)
torch.set_num_threads(1)


class DoubleConv(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(nn.Conv2d(cin, cout, 3, padding=1), nn.ReLU(), nn.Conv2d(cout, cout, 3, padding=1), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inc, self.down, self.up = DoubleConv(1, 8), DoubleConv(8, 16), DoubleConv(24, 8)
        self.outc = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.inc(x)
        b = F.interpolate(self.down(F.max_pool2d(a, 2)), scale_factor=2)
        return self.outc(self.up(torch.cat([a, b], 1)))


def squares(n, size=16):
    x, m = 0.3 * torch.randn(n, 1, size, size), torch.zeros(n, 1, size, size)
    for i in range(n):
        r, c = torch.randint(0, size - 6, (2,)).tolist()
        m[i, 0, r : r + 6, c : c + 6] = 1
    return x + m, m


def train_net(net, images, masks, epochs=8, batch=16, amp=True, clip=1.0):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.3, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", enabled=amp)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        net.train()
        epoch_loss = 0.0
        for x, m in zip(images.split(batch), masks.split(batch)):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
                loss = criterion(net(x), m)
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(net.parameters(), clip)
            scaler.step(optimizer)
            scaler.update()
            epoch_loss += loss.item()
        print(f"epoch {epoch} loss {epoch_loss / len(images.split(batch)):.4f}")


train_net(UNet(), *squares(64))
