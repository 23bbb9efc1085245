"""Runs the programs of examples/ at their full size, and holds what docs/examples.md says that they reach.

Twenty minutes on two CPUs, so it runs only when it is named:

    bazel test -c opt --test_output=all --test_env=AORTA_MNIST //tests/examples:figures_test

Bounds leave room for another instruction set's rounding, which takes a training elsewhere.
"""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from examples_test import MNIST, ExamplesCase, needs_digits  # noqa: E402


class Figures(ExamplesCase):
    def figures(self, name, patterns, *arguments):
        """The last number of each pattern in what the program says; says them and how long it took."""
        start = time.monotonic()
        output = self.run_program(name, *arguments, AORTA_MNIST=MNIST)
        found = [self.numbers(pattern, output)[-1] for pattern in patterns]
        print("%s: %s, %.0f s" % (name, ", ".join(map(str, found)), time.monotonic() - start), file=sys.stderr)
        return found

    def test_actor_critic(self):
        average, = self.figures("actor_critic", [r"on average (\S+)"])
        self.assertGreater(average, 300)  # chance keeps the pole up for 22 steps, 500 are the most

    def test_cart_pole(self):
        average, = self.figures("cart_pole", [r"on average (\S+)"])
        self.assertGreater(average, 195)  # where the task counts as solved

    def test_char_gpt(self):
        loss, = self.figures("char_gpt", [r"loss (\S+)\n"])
        self.assertLess(loss, 0.15)

    @needs_digits
    def test_ctc_digits(self):
        right, = self.figures("ctc_digits", [r"(\S+) % of unseen lines"])
        self.assertGreater(right, 80)

    @needs_digits
    def test_dcgan(self):
        self.figures("dcgan", [r"discriminator (\S+),"])
        self.check_digits_drawn("dcgan.png", edge=40, middle=60)

    def test_fine_tune(self):
        loss, right = self.figures("fine_tune", [r"loss (\S+),", r", (\S+) % of other images right"])
        self.assertLess(loss, 0.1)
        self.assertGreater(right, 75)  # by chance 20

    def test_first_net(self):
        loss, = self.figures("first_net", [r"loss (\S+)"])
        self.assertLess(loss, 0.01)

    def test_graph_attention(self):
        network, features = self.figures("graph_attention", [r"step \d+: (\S+) % of", r", (\S+) % from"])
        self.assertGreater(network, 85)
        self.assertLess(features, 55)

    def test_graph_convolution(self):
        network, features = self.figures("graph_convolution", [r": (\S+) % of the unknown", r"right, (\S+) %"])
        self.assertGreater(network, 95)
        self.assertLess(features, 55)

    @needs_digits
    def test_hogwild(self):
        right, = self.figures("hogwild", [r"(\S+) % of the test set right"])
        self.assertGreater(right, 97)

    def test_lstm_language_model(self):
        perplexity, = self.figures("lstm_language_model", [r"perplexity (\S+)"])
        self.assertLess(perplexity, 3.8)  # the sentences' own is 3.67

    @needs_digits
    def test_mnist(self):
        lenet, nielsen = self.figures("mnist", [r"LeNet-5, epoch \d+: (\S+) %", r"784-30-10, epoch \d+: (\S+) %"])
        self.assertGreater(lenet, 98.8)
        self.assertGreater(nielsen, 94.5)

    def test_optimizer_race_sparse(self):
        adagrad, plain = self.figures("optimizer_race_sparse", [r"Adagrad: loss (\S+)", r"SGD: loss (\S+)"])
        self.assertLess(adagrad, plain / 2)

    def test_resume(self):
        loss, = self.figures("resume", [r"loss (\S+)\n"])
        self.assertLess(loss, 0.08)

    @needs_digits
    def test_siamese(self):
        seen, unseen = self.figures("siamese", [r"its classes: (\S+) %", r"new classes: (\S+) %"])
        self.assertGreater(seen, 96)
        self.assertGreater(unseen, 62)

    def test_spectrogram(self):
        error, = self.figures("spectrogram", [r"error (\S+)"])
        self.assertLess(error, 2)

    def test_style_transfer(self):
        left, = self.figures("style_transfer", [r"style (\S+) %"])
        self.assertLess(left, 3)

    def test_super_resolution(self):
        network, bicubic = self.figures("super_resolution", [r"network: (\S+) dB", r"bicubic: (\S+) dB"])
        self.assertGreater(network, bicubic + 1.5)

    def test_time_series(self):
        loss, future = self.figures("time_series", [r"loss (\S+),", r"future (\S+)"])
        self.assertLess(loss, 1e-3)  # a sine's mean square is 0.5
        self.assertLess(future, 1e-2)

    @needs_digits
    def test_vae(self):
        loss, = self.figures("vae", [r"loss (\S+)"])
        self.assertLess(loss, 107.5)
        self.check_digits_drawn("vae.png", edge=20, middle=60)

    @needs_digits
    def test_vision_transformer(self):
        right, = self.figures("vision_transformer", [r"epoch \d+: (\S+) %"])
        self.assertGreater(right, 98)
