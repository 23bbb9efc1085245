"""What a training step takes on many GPUs, computed: scaling.py [--help]. docs/scaling.md says what of it was measured.

    step    = longest of N computations + what of the all-reduces backward doesn't hide
    rate    = the smaller of N batch / step and what the loaders' processors read

- A bucket's all-reduce takes latency + 2 (N - 1) / N bytes / bandwidth: a ring's, or a tree's as long as latency is small.
- Gradients are ready at an even rate through backward; a bucket waits for the one before it, and the last is a small one.
- Computations are normally distributed: the longest of N is longer by spread * sqrt(2 ln N), which for few N is a bit too much.
"""

import argparse
import math

# (name, seconds a step on one GPU, samples a step, bytes of gradients, share of the step that is backward)
JOBS = [
    ("DeepLabV3-ResNet50, bf16, 2x20", 10.3e-3, 20, 158.5e6, 0.62),
    ("DeepLabV3-ResNet50, TF32, 2x20", 17.1e-3, 20, 158.5e6, 0.62),
]

LAST_BUCKET = 1 << 20  # bytes, at most

# Two processes of a thread each on a CPU of two, steps and exchanges of `bench parallel`: bytes and seconds of an all_reduce; of
# steps the bytes of gradients, and seconds of one process with half of the batch, and of two with all of it.
EXCHANGES = [(4096, 5.69e-6), (256 << 10, 36.8e-6), (4 << 20, 457e-6), (64 << 20, 8.39e-3)]
STEPS = [
    ("DeepLabV3-ResNet50, 112x112, 2x4", 158.5e6, 531e-3, 564e-3),
    ("char-GPT, 2 layers of 128, 2x16 of 64", 1.7e6, 16.1e-3, 18.0e-3),
    ("784-30-10, 2x5", 95.4e3, 16.5e-6, 47.4e-6),
]


def fitted(exchanges):
    """Latency and bandwidth of two ranks, by least squares of relative errors; exchanges are (bytes, seconds)."""
    aa = ab = bb = at = bt = 0.0
    for size, seconds in exchanges:
        a, b = 1 / seconds, size / seconds
        aa, ab, bb, at, bt = aa + a * a, ab + a * b, bb + b * b, at + a, bt + b
    det = aa * bb - ab * ab
    return (at * bb - bt * ab) / det, det / (aa * bt - ab * at)


def print_fit(bucket):
    """What the model makes of runs of ours."""
    latency, bandwidth = fitted(EXCHANGES)
    print("%-44s %12s %12s" % ("fitted: %.1f us and %.2f GB/s" % (latency * 1e6, bandwidth / 1e9), "measured ms", "computed ms"))
    for size, seconds in EXCHANGES:
        name = "all_reduce of %d KB, 2 processes" % (size >> 10)
        print("%-44s %12.4g %12.4g" % (name, seconds * 1e3, all_reduce(size, 2, latency, bandwidth) * 1e3))
    for name, gradients, half, both in STEPS:
        took = half + exposed(half, 0.62, gradients, bucket, 2, latency, bandwidth)
        print("%-44s %12.4g %12.4g" % (name, both * 1e3, took * 1e3))
    print("computed for 10 Gbit/s and 50 us %24s %12s" % ("step ms", "waiting %"))
    for name, gradients, half, _ in STEPS:
        waits = exposed(half, 0.62, gradients, bucket, 2, 50e-6, 1.25e9)
        print("%-44s %12.4g %12.1f" % (name, (half + waits) * 1e3, 100 * waits / (half + waits)))


def all_reduce(size, ranks, latency, bandwidth):
    """Seconds; bandwidth as NCCL's tests count it (of the bus), in bytes a second."""
    return 0.0 if ranks == 1 else latency + 2 * (ranks - 1) / ranks * size / bandwidth


def exposed(step, backward, gradients, bucket, ranks, latency, bandwidth):
    """Seconds of all-reduces after the end of backward."""
    last = min(LAST_BUCKET, bucket, gradients)
    count = math.ceil((gradients - last) / bucket)
    end, done, made = step, 0.0, 0.0
    for size in [(gradients - last) / count] * count + [last] if count else [last]:
        made += size
        ready = end - backward * step * (1 - made / gradients)
        done = max(done, ready) + all_reduce(size, ranks, latency, bandwidth)
    return done - end if ranks > 1 else 0.0


def longest(step, spread, ranks):
    """The expected longest of so many computations."""
    return step * (1 + spread * math.sqrt(2 * math.log(ranks)))


def predict(step, samples, gradients, backward, hosts, per_host, o):
    """A step's seconds, its share of linear, samples a second, and the processors that loaders of a host need."""
    ranks = hosts * per_host
    latency = o.latency + (o.hop * math.ceil(math.log2(hosts)) if hosts > 1 else 0)
    bandwidth = o.host_bandwidth if hosts == 1 else o.network_bandwidth
    took = longest(step, o.spread, ranks) + exposed(step, backward, gradients, o.bucket, ranks, latency, bandwidth)
    rate = ranks * samples / took
    return took, step / took, rate, rate / hosts * o.read


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--bucket", type=float, default=25e6, help="bytes of a bucket (25e6)")
    add("--latency", type=float, default=30e-6, help="seconds of the smallest all-reduce in a host (30e-6)")
    add("--hop", type=float, default=15e-6, help="seconds for each doubling of hosts (15e-6)")
    add("--host_bandwidth", type=float, default=479.7e9, help="of the bus in a host, bytes a second (479.7e9)")
    add("--network_bandwidth", type=float, default=330.9e9, help="between hosts of 8 GPUs (330.9e9)")
    add("--spread", type=float, default=0.018, help="standard deviation of a computation over its mean (0.018)")
    add("--read", type=float, default=116e-6, help="seconds in which a processor reads a sample (116e-6)")
    add("--compressed", action="store_true", help="gradients travel in bf16")
    add("--fit", action="store_true", help="the model beside runs of two processes on a CPU")
    o = parser.parse_args()
    if o.fit:
        return print_fit(o.bucket)
    print("%-32s %6s %5s %10s %10s %12s %12s" % ("computed", "hosts", "GPUs", "step ms", "of linear", "samples/s", "CPUs a host"))
    for name, step, samples, gradients, backward in JOBS:
        for hosts, per_host in ((1, 1), (1, 2), (1, 4), (1, 8), (4, 8), (16, 8), (64, 8)):
            took, share, rate, cpus = predict(step, samples, gradients / (2 if o.compressed else 1), backward, hosts, per_host, o)
            print("%-32s %6d %5d %10.2f %10.3f %12.0f %12.1f" % (name, hosts, hosts * per_host, took * 1e3, share, rate, cpus))


if __name__ == "__main__":
    main()
