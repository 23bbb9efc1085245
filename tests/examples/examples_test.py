"""Runs every program of examples/ at small size: its exit status, what it prints, the files that it writes."""

import gzip
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
import zlib

PROGRAMS = {os.path.basename(path): os.path.abspath(path) for path in sys.argv[1:]}
MNIST = os.environ.get("AORTA_MNIST", "")
needs_digits = unittest.skipUnless(MNIST, "AORTA_MNIST names no folder with the MNIST digits")


def write_small_mnist(folder):
    """The first 6,000 digits to train and 1,000 to test with, as files of the same format."""
    for name, count in ("train", 6000), ("t10k", 1000):
        for kind, header, item in ("images-idx3", 16, 28 * 28), ("labels-idx1", 8, 1):
            path = "%s/%s-%s-ubyte" % (MNIST, name, kind)
            with open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz") as file:
                data = file.read(header + count * item)
            with open("%s/%s-%s-ubyte" % (folder, name, kind), "wb") as file:
                file.write(data[:4] + struct.pack(">I", count) + data[8:])


def grey_png(path):
    """Rows of pixels of a PNG file of 8 bits a pixel."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour, *_, interlace = struct.unpack(">IIBBBBB", data[at + 8:at + 8 + length])
            assert (depth, colour, interlace) == (8, 0, 0), path
        packed += data[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    data, rows, above = zlib.decompress(packed), [], bytes(width)

    def paeth(a, b, c):
        return min((a, b, c), key=lambda value: abs(a + b - c - value))

    for y in range(height):
        kind, *row = data[y * (width + 1):(y + 1) * (width + 1)]
        for x in range(width):
            a, b, c = row[x - 1] if x else 0, above[x], above[x - 1] if x else 0
            row[x] = (row[x] + (0, a, b, (a + b) // 2, paeth(a, b, c))[kind]) % 256
        rows.append(row)
        above = row
    return rows


def safetensors(path):
    """Name -> (shape, values) of a file's f32 tensors."""
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", entry
        begin, end = entry["data_offsets"]
        tensors[name] = entry["shape"], struct.unpack("<%df" % ((end - begin) // 4), data[begin:end])
    return tensors


class ExamplesCase(unittest.TestCase):
    """Runs examples in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_program(self, name, *arguments, status=0, **environment):
        # One thread: on a busy machine more of them wait for each other.
        result = subprocess.run([PROGRAMS[name], *arguments], cwd=self.folder,
                                env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(result.returncode, status, result.stdout)
        return result.stdout

    def curves(self, name):
        """The names in the legend of an SVG."""
        root = xml.etree.ElementTree.parse(os.path.join(self.folder, name)).getroot()
        return [element.text for element in root.iter() if element.tag.endswith("text")]

    def numbers(self, pattern, output):
        found = [float(text) for text in re.findall(pattern, output)]
        self.assertTrue(found, output)
        return found

    def check_digits_drawn(self, name, edge, middle):
        """A picture of 8 x 8 digits has its ink in their middles and little at their edges, in 0 to 255."""
        picture = grey_png(os.path.join(self.folder, name))
        self.assertEqual((len(picture), len(picture[0])), (224, 224))
        at_edges = [row[x] for row in picture for x in range(0, 224, 28)]
        in_middles = [row[x] for row in picture[14::28] for x in range(14, 224, 28)]
        self.assertLess(sum(at_edges) / len(at_edges), edge)
        self.assertGreater(sum(in_middles) / len(in_middles), max(middle, 1.5 * sum(at_edges) / len(at_edges)))


class Examples(ExamplesCase):
    def test_every_example_is_run_and_short(self):
        sources = {name[:-3] for name in os.listdir("examples") if name.endswith(".cc")}
        missing = {"parameter_server"} - set(PROGRAMS)  # where there is no MPI
        self.assertEqual(sources - missing | {"matmul"}, set(PROGRAMS))
        tests = {name[len("test_"):] for name in dir(self)}
        self.assertLessEqual(sources, tests)
        for name in sources:
            with open("examples/%s.cc" % name) as file:
                self.assertLess(len(file.readlines()), 80, name)

    def test_matmul(self):
        # 37 has edges in every tile, 530 a second strip of the sum's.
        for size in "37", "530":
            output = self.run_program("matmul", size, "0")
            steps = re.findall(r"^(\d) .* error |^(\d) .*lacks the instructions$", output, re.M)
            self.assertEqual([first or second for first, second in steps], list("1234567899"), output)
            self.assertIn("every step is right", output)

    @unittest.skipUnless("parameter_server" in PROGRAMS, "there is no MPI")
    def test_parameter_server(self):
        # One process that calls itself; //tests/rpc runs three.
        output = self.run_program("parameter_server", "200")
        losses = self.numbers(r"server, step \d+: loss (\S+)", output)
        self.assertEqual(len(losses), 2)
        self.assertLess(losses[-1], 0.3)  # at first log 2
        self.assertGreater(self.numbers(r"server: (\S+) % right", output)[0], 90)

    def test_resume(self):
        def weights(name):
            with open(os.path.join(self.folder, name), "rb") as file:
                return file.read()

        whole = self.run_program("resume", "3", "whole")
        losses = self.numbers(r"loss (\S+)\n", whole)
        self.assertEqual(len(losses), 3)
        self.assertLess(losses[-1], losses[0])
        for stop in "17", "40", "59":  # within an epoch, at its end, and just after a checkpoint's step
            self.run_program("resume", "3", "parts" + stop, stop)
            rest = self.run_program("resume", "3", "parts" + stop)
            self.assertIn("going on after step %d\n" % (int(stop) // 7 * 7), rest)
            self.assertTrue(whole.endswith(rest.partition("\n")[2]), rest)
            self.assertEqual(weights("parts" + stop), weights("whole"))

    def test_plan_step(self):
        output = self.run_program("plan_step", "resnet18", "2", "64")
        *ops, total, took = output.splitlines()[1:]
        for op in "convolution", "convolution_transpose", "convolution_weight", "batch_norm", "update":
            self.assertIn(op, [line.split()[0] for line in ops])
        products, moved, peak, floor = (float(n) for n in re.findall(r"[\d.]+(?= (?:GMAC,|MB|ms))", total))
        self.assertAlmostEqual(sum(float(line.split()[2]) for line in ops), products, delta=0.02)
        # For an image of 64x64 torchvision's count is 0.149 GMAC forward and three times that in all; of a 2x2 map's
        # products with 3x3 five of nine are with padding, and the image needs no gradient.
        self.assertLess(products, 2 * 3 * 0.149)
        self.assertGreater(products, 0.7 * 2 * 3 * 0.149)
        # Parameters, gradients and momentum: 3 x 11.7 million x 4 bytes, and what the backward pass needs.
        self.assertGreater(peak, 140)
        self.assertLess(peak, 200)
        self.assertGreater(moved, peak)
        self.assertGreater(floor, 0)
        self.assertRegex(took, r"^planned in [\d.]+ ms$")

    def test_char_gpt(self):
        rhyme = ("Ann has an apple and Ben has a pear.\nCal keeps a dog that is white as the snow,\n"
                 "and Dot sold a cake at the fair.\n")
        with open(self.folder + "/rhyme.txt", "w") as file:
            file.write(3 * rhyme)
        output = self.run_program("char_gpt", "rhyme.txt", "200", "64")
        losses = self.numbers(r"loss (\S+)\n", output)
        self.assertGreater(losses[0], 0.5)
        self.assertLess(losses[-1], 0.15)
        # Longer than a window of 64 characters, so that the cache was begun anew.
        story = output[output.rindex("loss "):].split("\n", 1)[1]
        self.assertEqual(story[:len(rhyme)], rhyme)
        self.assertEqual(len(story), 301)
        self.assertIn("the text must be longer than 64, got 0", self.run_program("char_gpt", "nowhere", status=-6))

    def test_actor_critic(self):
        averages = self.numbers(r"on average (\S+)", self.run_program("actor_critic", "300"))
        self.assertLess(averages[0], 100)
        self.assertGreater(max(averages), 200)

    def test_cart_pole(self):
        averages = self.numbers(r"on average (\S+)", self.run_program("cart_pole"))
        # Chance keeps it up for 22 steps; 500 are the most.
        self.assertLess(averages[0], 100)
        self.assertGreater(max(averages), 200)

    def test_custom_layer(self):
        output = self.run_program("custom_layer")
        self.assertEqual(output.count("gradient: right"), 2, output)
        self.assertIn("(1): Snake(features=32)", output)
        snake, = self.numbers(r"with snakes (\S+)", output)
        relu, = self.numbers(r"with ReLU (\S+)", output)
        self.assertLess(snake, 0.1 * relu)

    def test_custom_optimizer(self):
        output = self.run_program("custom_optimizer")
        self.assertIn("WrongSgd: the optimizer doesn't follow sgd", output)

    @needs_digits
    def test_dcgan(self):
        write_small_mnist(self.folder)
        output = self.run_program("dcgan", "3", ".", "16")
        self.assertEqual(len(self.numbers(r"discriminator (\S+),", output)), 3)
        self.check_digits_drawn("dcgan.png", edge=70, middle=0)  # at first all is grey, 127

    @needs_digits
    def test_digits(self):
        write_small_mnist(self.folder)
        self.run_program("digits", AORTA_MNIST=self.folder)
        net = safetensors(self.folder + "/net.safetensors")
        self.assertEqual({name: shape for name, (shape, _) in net.items()},
                         {"hidden.weight": [128, 784], "hidden.bias": [128], "output.weight": [10, 128],
                          "output.bias": [10]})
        # What the file says of digits that it wasn't trained with, worked out here.
        images = open(self.folder + "/t10k-images-idx3-ubyte", "rb").read()[16:]
        labels = open(self.folder + "/t10k-labels-idx1-ubyte", "rb").read()[8:]

        def linear(layer, x):
            columns = len(x)
            weight, bias = net[layer + ".weight"][1], net[layer + ".bias"][1]
            return [b + sum(weight[row * columns + i] * v for i, v in enumerate(x) if v) for row, b in enumerate(bias)]

        right = 0
        for sample in range(100):
            x = [pixel / 255 for pixel in images[784 * sample:784 * sample + 784]]
            scores = linear("output", [max(v, 0.0) for v in linear("hidden", x)])
            right += scores.index(max(scores)) == labels[sample]
        self.assertGreater(right, 85)

    def test_digits_without_data(self):
        output = self.run_program("digits", status=-6, AORTA_MNIST="")
        self.assertIn("mnist: ", output)
        self.assertEqual(os.listdir(self.folder), [])

    def test_fine_tune(self):
        output = self.run_program("fine_tune")
        right = self.numbers(r", (\S+) % of other images right", output)
        self.assertGreater(right[-1], 70)  # by chance 20
        self.assertEqual(self.numbers(r"from the file: (\S+) %", output), right[-1:])
        self.assertGreater(os.path.getsize(self.folder + "/fine_tuned.onnx"), 40 << 20)
        # A file that is given is what it starts from.
        again = self.run_program("fine_tune", "resnet18.safetensors", "20")
        self.assertGreater(self.numbers(r", (\S+) % of other", again)[0], 50)
        self.assertIn("nowhere.safetensors", self.run_program("fine_tune", "nowhere.safetensors", status=-6))

    def test_first_net(self):
        losses = self.numbers(r"step \d+: loss (\S+)", self.run_program("first_net", "50"))
        self.assertEqual(len(losses), 11)
        self.assertEqual(losses, sorted(losses, reverse=True))
        self.assertGreater(losses[0], 30)  # the mean square of 1 to 10 is 38.5
        self.assertLess(losses[-1], 1)

    def test_gradients(self):
        output = self.run_program("gradients", "graph.dot")
        self.assertIn("df/dz = tensor(3., dtype=f64)", output)
        self.assertIn("hidden.weight", open(self.folder + "/graph.dot").read())

    def test_graph_attention(self):
        output = self.run_program("graph_attention", "60", "200")
        network, = self.numbers(r"step 60: (\S+) %", output)
        features, = self.numbers(r"step 60: .*, (\S+) % from", output)
        self.assertGreater(network, 65)  # by chance 25
        self.assertGreater(network, features + 10)

    def test_graph_convolution(self):
        output = self.run_program("graph_convolution", "60", "2000")
        network, = self.numbers(r": (\S+) % of the unknown", output)
        features, = self.numbers(r"right, (\S+) %", output)
        self.assertGreater(network, 80)  # by chance 25
        self.assertGreater(network, features + 20)

    @needs_digits
    def test_hogwild(self):
        write_small_mnist(self.folder)
        output = self.run_program("hogwild", "3", "2", self.folder)
        losses = [self.numbers(r"process %d, epoch \d: loss (\S+)" % rank, output) for rank in (1, 2, 3)]
        self.assertEqual([len(found) for found in losses], [2, 2, 2])
        # All of them go on from what the others have learnt too, and the parent has it.
        self.assertLess(max(found[-1] for found in losses), 1)
        self.assertGreater(self.numbers(r"(\S+) % of the test set", output)[0], 80)
        self.assertIn("mnist: the folder must hold", self.run_program("hogwild", "1", "1", "nowhere", status=1))

    def test_landmarks(self):
        marks = self.run_program("landmarks", ".", TMPDIR=self.folder).splitlines()
        # 4 epochs of 6 faces with two blue eyes and a red mouth; few points leave the picture.
        self.assertGreater(len(marks), 60)
        self.assertEqual(set(marks), {"eye is blue", "mouth is red"})
        with open(self.folder + "/landmarks.png", "rb") as file:
            head = file.read(24)
        self.assertEqual(struct.unpack(">II", head[16:]), (6 * 96, 4 * 96))
        self.assertEqual(os.listdir(self.folder), ["landmarks.png"])

    def test_lstm_language_model(self):
        perplexities = self.numbers(r"perplexity (\S+)", self.run_program("lstm_language_model"))
        # The sentences' own is 8^(5/8) = 3.67, and that of 26 words drawn alike 26.
        self.assertLess(perplexities[-1], 4.0)
        self.assertGreater(perplexities[-1], 3.6)
        with open(self.folder + "/text.txt", "w") as file:
            file.write("one two three four " * 1000)
        perplexities = self.numbers(r"perplexity (\S+)", self.run_program("lstm_language_model", "text.txt", "20", "16"))
        self.assertLess(perplexities[-1], 1.5)

    @needs_digits
    def test_mnist(self):
        write_small_mnist(self.folder)
        output = self.run_program("mnist", "both", "2", self.folder)
        lenet = self.numbers(r"LeNet-5, epoch \d: (\S+) % of the test set right", output)
        nielsen = self.numbers(r"784-30-10, epoch \d: (\S+) % of the test set right", output)
        self.assertEqual((len(lenet), len(nielsen)), (2, 2))
        self.assertGreater(lenet[-1], 90)
        self.assertGreater(nielsen[-1], 60)

    def test_mnist_without_data(self):
        output = self.run_program("mnist", "lenet", "1", "nowhere", status=1)
        self.assertRegex(output, r"^mnist: the folder must hold train-images-idx3-ubyte, .*\(from https://\S+/mnist/.*"
                                 r"got no train-images-idx3-ubyte in nowhere")

    def test_mnist_wide(self):
        output = self.run_program("mnist_wide", "30", ".")
        self.assertRegex(output, r"\d+ CPUs; \S+")
        for batch in "5", "10":
            names = ["serial", "one by one"] + ["%d threads" % i for i in range(1, 13)]
            curves = self.curves("mnist_wide_%s.svg" % batch)
            for name in names:
                self.assertIn(name, curves)
                self.assertRegex(output, r"\n%s +[\d.]+ +-?[\d.]+ %%" % name)
            self.assertIn("wrote ./mnist_wide_%s.svg" % batch, output)

    def test_optimizer_paths(self):
        output = self.run_program("optimizer_paths", ".", "momentum", "nesterov", "adam")
        self.assertLessEqual({"momentum", "nesterov", "adam"}, set(self.curves("optimizer_paths.svg")))
        momentum, nesterov, adam = self.numbers(r": f = (\S+) at", output)
        self.assertLess(nesterov, momentum)
        self.assertLess(adam, 1)
        self.assertIn("no optimizer is called foo", self.run_program("optimizer_paths", ".", "foo", status=1))

    @needs_digits
    def test_optimizer_race(self):
        write_small_mnist(self.folder)
        for batch in "1", "128", "all":
            output = self.run_program("optimizer_race", "2" if batch == "all" else "100", batch, ".",
                                      AORTA_MNIST=self.folder)
            self.assertEqual(len(self.numbers(r", \w+: loss (\S+)", output)), 3 * 6)
            for net in "softmax", "sigmoid", "deep":
                self.assertLessEqual({"SGD", "momentum", "Nesterov", "Adagrad", "Adadelta", "Adam"},
                                     set(self.curves("race_%s.svg" % net)))
            if batch == "128":  # knowing nothing is ln 10 = 2.3
                self.assertLess(min(self.numbers(r"softmax, \w+: loss (\S+)", output)), 1.5)

    def test_optimizer_race_sparse(self):
        output = self.run_program("optimizer_race_sparse", "300", ".")
        losses = dict(re.findall(r"(\w+): loss (\S+)", output))
        plain = min(float(losses[name]) for name in ("SGD", "momentum", "Nesterov"))
        adaptive = max(float(losses[name]) for name in ("Adagrad", "Adadelta", "Adam"))
        self.assertLess(adaptive, plain, output)
        self.assertRegex(output, "(Adagrad|Adadelta|Adam) won")
        self.assertIn("Adagrad", self.curves("race_sparse.svg"))

    @needs_digits
    def test_vision_transformer(self):
        write_small_mnist(self.folder)
        right = self.numbers(r"epoch \d: (\S+) %", self.run_program("vision_transformer", "3", ".", "32"))
        self.assertGreater(right[-1], 75)

    @needs_digits
    def test_vae(self):
        write_small_mnist(self.folder)
        losses = self.numbers(r"loss (\S+)", self.run_program("vae", "3", "."))
        # A digit's pixels, each by its mean alone, cost 206 nats.
        self.assertGreater(losses[0], 220)
        self.assertLess(losses[-1], 180)
        self.check_digits_drawn("vae.png", edge=20, middle=50)

    def test_time_series(self):
        text = self.run_program("time_series", "3", "12", "60")
        losses = self.numbers(r"loss (\S+),", text)
        self.assertEqual(len(losses), 3)
        self.assertLess(losses[-1], 0.02)  # a sine's mean square is 0.5
        self.assertLess(self.numbers(r"future (\S+)", text)[-1], 0.5)
        self.assertLessEqual({"the wave", "the network"}, set(self.curves("time_series.svg")))

    def test_spectrogram(self):
        text = self.run_program("spectrogram", "50", "2000")
        low, high = self.numbers(r"ms: (\S+) Hz", text)
        self.assertLess(abs(low - 1000), 300)
        self.assertLess(abs(high - 2000), 300)
        first, last = self.numbers(r"error (\S+)", text)
        self.assertLess(last, first / 4)
        self.assertIn("error", self.curves("spectrogram.svg"))

    @needs_digits
    def test_siamese(self):
        write_small_mnist(self.folder)
        seen, unseen = self.numbers(r"classes: (\S+) %", self.run_program("siamese", "200", "."))
        self.assertGreater(seen, 85)  # by chance 50
        self.assertGreater(unseen, 65)

    @needs_digits
    def test_ctc_digits(self):
        write_small_mnist(self.folder)
        output = self.run_program("ctc_digits", "200", ".")
        losses = self.numbers(r"loss (\S+)", output)
        self.assertLess(losses[-1], losses[0])
        self.assertGreater(self.numbers(r"(\S+) % of unseen lines", output)[-1], 20)

    def test_style_transfer(self):
        left = self.numbers(r"style (\S+) %", self.run_program("style_transfer", "150"))
        self.assertEqual(len(left), 3)
        self.assertLess(left[-1], 8)
        with open(self.folder + "/style_transfer.png", "rb") as file:
            head = file.read(26)
        self.assertEqual(struct.unpack(">II", head[16:24]), (3 * 48, 48))
        self.assertEqual(head[25], 2)  # in colours
        self.assertIn("nowhere.safetensors",
                      self.run_program("style_transfer", "1", "made.png", "nowhere.safetensors", status=-6))

    def test_super_resolution(self):
        output = self.run_program("super_resolution")
        network, bicubic = self.numbers(r": (\S+) dB", output)
        self.assertGreater(network, bicubic + 1)
        self.assertGreater(bicubic, 15)
        picture = grey_png(self.folder + "/super_resolution.png")
        self.assertEqual((len(picture), len(picture[0])), (48, 144))

    def test_tour(self):
        self.assertIn("a mistake reads: add: ", self.run_program("tour"))
