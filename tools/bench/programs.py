"""PyTorch's side of programs.cc: each function makes a program for a batch and gives its step, which returns the loss."""

import os
import sys

import torch
import torch.nn.functional as F
from inputs import fill, make
from torch import nn


def integers(shape, bound, seed):
    return make(shape, 0, bound, seed).floor().long()


def step_of(net, optimizer, bf16, loss_of, clip=0):
    def step():
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = loss_of()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
        return loss.detach()
    return step


def image_step(net, batch, size, bf16, loss):
    fill(net).to(memory_format=torch.channels_last)
    x = make((batch, 3, size, size), -1, 1, 100).contiguous(memory_format=torch.channels_last)
    return step_of(net, torch.optim.SGD(net.parameters(), 1e-5, 0.9), bf16, lambda: loss(net(x)))


def resnet(name, batch, size, bf16):
    import torchvision
    y = torch.arange(batch) % 10
    return image_step(getattr(torchvision.models, name)(num_classes=10), batch, size, bf16,
                      lambda out: F.cross_entropy(out, y))


def resnet18(batch, size, bf16):
    return resnet("resnet18", batch, size, bf16)


def resnet50(batch, size, bf16):
    return resnet("resnet50", batch, size, bf16)


def unet_small(batch, size, bf16):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests/fixtures"))
    from make_models import UNet
    torch.set_default_dtype(torch.float32)  # make_models works in f64
    y = (make((batch, 1, size, size), 0, 1, 101) > 0.5).float()
    return image_step(UNet(3, 1, 16, 4), batch, size, bf16,
                      lambda out: F.binary_cross_entropy_with_logits(out, y))


def r2plus1d_18(batch, frames, size, bf16):
    import torchvision
    net = fill(torchvision.models.video.r2plus1d_18(num_classes=1)).to(memory_format=torch.channels_last_3d)
    x = make((batch, 3, frames, size, size), -1, 1, 100).contiguous(memory_format=torch.channels_last_3d)
    y = make((batch, 1), 30, 70, 101)
    return step_of(net, torch.optim.SGD(net.parameters(), 1e-6, 0.9), bf16, lambda: F.mse_loss(net(x).float(), y))


def inference(batch, size, bf16):
    import torchvision
    net = fill(torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=1))
    net.to(memory_format=torch.channels_last).eval()
    x = make((batch, 3, size, size), -1, 1, 100).contiguous(memory_format=torch.channels_last)

    @torch.no_grad()
    def step():
        return net(x)["out"]
    return step


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, bias=False)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width, bias=False)
        self.ln_2 = nn.LayerNorm(width, bias=False)
        self.fc = nn.Linear(width, 4 * width, bias=False)
        self.out = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = (y.view(n, length, 6, width // 6).transpose(1, 2) for y in self.qkv(self.ln_1(x)).split(width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(n, length, width))
        return x + self.out(F.gelu(self.fc(self.ln_2(x))))


class Gpt(nn.Module):
    def __init__(self, characters, length, width):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(characters, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(6))
        self.ln_f = nn.LayerNorm(width, bias=False)
        self.head = nn.Linear(width, characters, bias=False)
        self.wte.weight = self.head.weight

    def forward(self, text):
        x = self.wte(text) + self.wpe(torch.arange(text.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


def char_gpt(batch, length, bf16):
    net = fill(Gpt(65, length, 384))
    x, y = integers((batch, length), 65, 100), integers((batch, length), 65, 101)
    return step_of(net, torch.optim.AdamW(net.parameters(), 1e-4, (0.9, 0.99)), bf16,
                   lambda: F.cross_entropy(net(x).flatten(0, 1), y.flatten()), 1)


class ViT(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.pos = nn.Parameter(torch.zeros(1, 65, width))
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, 3, 4 * width, 0.0, "gelu", batch_first=True,
                                                               norm_first=True) for _ in range(6))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, images):
        x = self.patch(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x[:, 0]))


def vit(batch, bf16):
    net = fill(ViT(192))
    x, y = make((batch, 3, 32, 32), -1, 1, 100), torch.arange(batch) % 10
    return step_of(net, torch.optim.AdamW(net.parameters(), 1e-5, weight_decay=0.05), bf16,
                   lambda: F.cross_entropy(net(x), y, label_smoothing=0.1))


class LanguageModel(nn.Module):
    def __init__(self, rnn):
        super().__init__()
        self.encoder, self.rnn, self.decoder = nn.Embedding(10000, 512), rnn(512, 512, 2), nn.Linear(512, 10000)
        self.state = None

    def forward(self, text):
        y, state = self.rnn(self.encoder(text), self.state)
        self.state = state.detach() if torch.is_tensor(state) else tuple(s.detach() for s in state)
        return self.decoder(y)


def language_model(rnn, batch, length, bf16):
    net = fill(LanguageModel(rnn))
    x, y = integers((length, batch), 10000, 100), integers((length, batch), 10000, 101)
    return step_of(net, torch.optim.SGD(net.parameters(), 1e-3), bf16,
                   lambda: F.cross_entropy(net(x).flatten(0, 1), y.flatten()), 0.25)


def lstm(batch, length, bf16):
    return language_model(nn.LSTM, batch, length, bf16)


def gru(batch, length, bf16):
    return language_model(nn.GRU, batch, length, bf16)


def dcgan(batch, bf16):
    def up(a, b, stride, padding):
        return nn.ConvTranspose2d(a, b, 4, stride, padding, bias=False)

    def down(a, b, stride, padding):
        return nn.Conv2d(a, b, 4, stride, padding, bias=False)

    def bce(logits, target):
        return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, target))
    G = fill(nn.Sequential(up(100, 512, 1, 0), nn.BatchNorm2d(512), nn.ReLU(True),
                           up(512, 256, 2, 1), nn.BatchNorm2d(256), nn.ReLU(True),
                           up(256, 128, 2, 1), nn.BatchNorm2d(128), nn.ReLU(True),
                           up(128, 64, 2, 1), nn.BatchNorm2d(64), nn.ReLU(True), up(64, 3, 2, 1), nn.Tanh()))
    D = fill(nn.Sequential(down(3, 64, 2, 1), nn.LeakyReLU(0.2, True),
                           down(64, 128, 2, 1), nn.BatchNorm2d(128), nn.LeakyReLU(0.2, True),
                           down(128, 256, 2, 1), nn.BatchNorm2d(256), nn.LeakyReLU(0.2, True),
                           down(256, 512, 2, 1), nn.BatchNorm2d(512), nn.LeakyReLU(0.2, True), down(512, 1, 1, 0)))
    real, noise = make((batch, 3, 64, 64), -1, 1, 100), make((batch, 100, 1, 1), -1, 1, 101)
    of_g, of_d = (torch.optim.Adam(net.parameters(), 1e-6, (0.5, 0.999)) for net in (G, D))

    def step():
        of_d.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            made = G(noise)
            loss_d = bce(D(real), 1.0) + bce(D(made.detach()), 0.0)
        loss_d.backward()
        of_d.step()
        of_g.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss_g = bce(D(made), 1.0)
        loss_g.backward()
        of_g.step()
        return (loss_d + loss_g).detach()
    return step


def vae(batch, bf16):
    net = nn.Module()
    net.fc1, net.fc21, net.fc22 = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
    net.fc3, net.fc4 = nn.Linear(20, 400), nn.Linear(400, 784)
    fill(net)
    x, noise = make((batch, 784), 0, 1, 100), make((batch, 20), -1, 1, 101)

    def loss():
        h = F.relu(net.fc1(x))
        mean, log_variance = net.fc21(h), net.fc22(h)
        image = torch.sigmoid(net.fc4(F.relu(net.fc3(mean + noise * (0.5 * log_variance).exp()))))
        with torch.autocast("cpu", enabled=False):
            mean, log_variance = mean.float(), log_variance.float()
            error = F.binary_cross_entropy(image.float(), x, reduction="sum")
            return error - 0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
    return step_of(net, torch.optim.Adam(net.parameters(), 1e-6), bf16, loss)


def autoencoder(batch, bf16):
    net = fill(nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 7),
        nn.ConvTranspose2d(64, 32, 7), nn.ReLU(), nn.ConvTranspose2d(32, 16, 3, 2, 1, output_padding=1), nn.ReLU(),
        nn.ConvTranspose2d(16, 1, 3, 2, 1, output_padding=1), nn.Sigmoid()))
    x = make((batch, 1, 28, 28), 0, 1, 100)
    return step_of(net, torch.optim.Adam(net.parameters(), 1e-6), bf16, lambda: F.mse_loss(net(x), x))


class TextCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20000, 128, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(128, 100, kernel) for kernel in (3, 4, 5))
        self.fc = nn.Linear(300, 2)

    def forward(self, text):
        x = self.embed(text).transpose(1, 2)
        return self.fc(torch.cat([F.relu(conv(x)).amax(2) for conv in self.convs], 1))


def text_cnn(batch, bf16):
    net = fill(TextCnn())
    x, y = integers((batch, 56), 20000, 100), torch.arange(batch) % 2
    return step_of(net, torch.optim.Adam(net.parameters(), 1e-6), bf16, lambda: F.cross_entropy(net(x), y))


calls_begun = False


def remote_call(elements):
    """A tensor to the other of two processes and back."""
    from torch.distributed import get_rank, rpc
    global calls_begun
    options = rpc.TensorPipeRpcBackendOptions(init_method=os.environ["MEETING"] + ".rpc")
    if not calls_begun:
        rpc.init_rpc("worker%d" % get_rank(), rank=get_rank(), world_size=2, rpc_backend_options=options)
    calls_begun = True
    tensor = make((elements,), -1, 1, get_rank())
    return lambda: rpc.rpc_sync("worker%d" % (1 - get_rank()), torch.neg, args=(tensor,))
