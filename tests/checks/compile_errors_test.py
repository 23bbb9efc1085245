"""What doesn't compile, and what the compiler says first: a user's first mistakes name their remedy, names in braces
that are no option's are refused everywhere, and programs compile without a warning, by clang too."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import project

HEAD = """#include <aorta/aorta.h>
#include <aorta/core/io/npy.h>
#include <aorta/core/io/npz.h>
#include <aorta/core/io/safetensors.h>
#include <aorta/distributions/distributions.h>
#include <aorta/onnx/onnx.h>
#include <aorta/report/events.h>
#include <aorta/report/page.h>
using namespace aorta;
struct Net : nn::Module {
  nn::Linear layer{*this, "layer", 2, 3};
  Tensor forward(const Tensor& x) const override { return layer(x); }
};
struct TwoInputs : nn::Module {
  using nn::Module::forward;
  Tensor forward(const Tensor& x, const Tensor& y) const { return x + y; }
};
"""

# A mistake, and words of the first error about it.
MISTAKES = (
    ("x[0] = y;", "use x[i].copy_(y)"),
    ("x[0] = 1;", "use x[i].copy_(y)"),
    ("x[gt(x, 0)] += 1;", "use index_put_(x, {places}, y, true)"),
    ("x(gt(x, 0), 1) *= y;", "x[places] *= y changes a copy"),
    ("x[gt(x, 0)] %= 2;", "x[places] %= y changes a copy"),
    ("x[gt(x, 0)] |= y;", "x[places] |= y changes a copy"),
    ("nn::Buffer places; x(places) += y;", "use index_put_(x, {places}, y, true)"),
    ("Autocast(f16);", "no matching function for call to ‘aorta::Autocast::Autocast()’"),
    ("data::ColorJitter jitter{0.4, 0.4, 0.4, 0.1};", "could not convert ‘4.0000000000000002e-1’ from ‘double’ to ‘aorta::data::Range’"),
    ("TwoInputs net; net(x, y);", "nn::ModuleOf<Net>"),
    ("Net net; optim::Adam optimizer(net, {.lr = 1e-3});", "net.parameters()"),
    ("Net net; optim::SGD optimizer(net);", "net.parameters()"),
    ('data::DataLoader loader(data::Mnist("mnist", data::Split::train), {.batch_size = 2});', "data::make_dataset<D>"),
    ('Net net; save(net, "net.safetensors");', "net.state_dict()"),
    ("nn::Sequential net{nn::Linear(2, 3), [](const Tensor& t) { return relu(t); }};", "nn::ReLU()"),
    ("x[0.5];", "no match for ‘operator[]’ (operand types are ‘aorta::Tensor’ and ‘double’)"),
    ("x.conv2d(y);", "has no member named ‘conv2d’"),  # a function, as in PyTorch
    ("x.backwards();", "did you mean ‘backward’"),
    ("nn::relu(x);", "did you mean"),
    ("init();", "aorta::init(int, const char* const*)"),
    ("zeros({2}, f32);", "aorta::TensorOptions"),
    ("x.to(DType::int64);", "did you mean ‘i64’"),
    ("matmul_op.name();", "not declared in this scope"),  # what kernels are given isn't among the names of users
    ("nn::cross_entropy_loss(x, y);", "did you mean ‘CrossEntropyLoss’"),
)

# Names in braces that aren't an option of what is called.
STRAY_NAMES = (
    "conv2d(x, y, {}, {.paddin = 1});",
    "conv2d(x, y, {}, {1, 1}, {.padding = 1});",
    "conv1d(x, y, {.kernel_size = 3});",
    "conv_transpose2d(x, y, {}, {.output = 1});",
    "max_pool2d(x, {.kernel_size = 2});",
    "max_pool1d_with_indices(x, 2, {.count_include_pad = true});",
    "avg_pool3d(x, 2, {.dilation = 2});",
    "adaptive_avg_pool2d(x, {.output_size = 2});",
    "sum(x, {.dim = 1});",
    "mean(x, {.keepdim = 1});",
    "zeros({.size = 2});",
    "layer_norm(x, {.normalized_shape = 2});",
    "batch_norm(x, y, y, {.training = true});",
    "batch_norm(x, y, y, {}, {}, {.affine = true});",
    "instance_norm(x, y, y, {}, {}, {.training = true});",
    "pad(x, {.left = 1});",
    "flip(x, {.dims = 0});",
    "x.view({.shape = 2});",
    "x.permute({.dims = 0});",
    "x.expand({.shape = 2});",
    "nn::Conv2d layer(3, 8, {.kernel_size = 3});",
    "nn::MaxPool2d layer({.stride = 2});",
    "nn::Conv2d layer(3, 8, 3, {.strides = 2});",
    # Lists and texts, for which g++ 12 would take two of them as a count and a value, or a text and its length.
    "tensor({.dtype = 3});",
    "tensor({.a = 1.5});",
    "tensor({.a = 1, .b = 2});",
    "tensor({{.a = 1.0}, {.a = 2.0}});",
    "tensor({{1, 2}, {.a = 3, .b = 4}});",
    "tensor({.a = Scalar(2)});",
    "tensor<float>({.count = 2, .value = 1.f});",
    "cat({.count = 2, .value = x});",
    "stack({.a = x, .b = y});",
    "meshgrid({.count = 2, .value = x});",
    "split(x, {.a = 2, .b = 3});",
    "tensor_split(x, {.a = 2, .b = 3});",
    "x.split({.a = 2, .b = 3});",
    "x.tensor_split({.a = 2});",
    "index(x, {.i = 1, .j = 2});",
    "index(x, {.mask = y});",
    "x.index({.i = 1, .j = 2});",
    "x.index_put_({.i = 1, .j = 2}, 1);",
    "index_put(x, {.i = 1, .j = 2}, y);",
    'einsum("i", {.count = 2, .value = x});',
    "interpolate(x, {.size = {.height = 3, .width = 4}});",
    "interpolate(x, {.scale_factor = {.height = 3, .width = 4}});",
    "autograd::grad({.count = 2, .value = x}, {x});",
    "autograd::backward({.count = 2, .value = x});",
    "autograd::gradcheck({}, {.count = 2, .value = x});",
    "optim::Adam optimizer({.count = 2, .value = x});",
    "optim::SGD optimizer({{.tensors = {x}, .options = {.lr = 1}}});",
    "optim::AveragedModel averages({.count = 2, .value = x});",
    "optim::clip_grad_norm_({.count = 2, .value = x}, 1);",
    "optim::MultiStepLR::Options options{.milestones = {.first = 30, .second = 80}};",
    "optim::OneCycleLR::Options options{.max_lr = {.first = 3, .second = 0.1}};",
    "distributions::Normal d({.mean = x}, 1);",
    "distributions::Normal d(0, {.count = 2, .value = x});",
    "distributions::Categorical d({.logit = x});",
    "distributions::TransformedDistribution d(distributions::Normal(0, 1), {.count = 2, .value = distributions::ExpTransform()});",
    "models::MLP net({.inputs = 784, .outputs = 10});",
    "models::ASPP net(3, {.first = 12, .second = 24});",
    'models::make({.name = "unet_small", .classes = 4});',
    "nn::Sequential net({.count = 2, .value = nn::Sequential::Named{}});",
    "nn::DataParallel<Net> net(Net{}, {.count = 2, .value = Device()});",
    "data::Subset subset(nullptr, {.first = 1, .second = 2});",
    "data::ConcatDataset all({.count = 2, .value = data::DatasetPointer{}});",
    "data::random_split(nullptr, {.train = 4, .val = 6});",
    "data::SubsetRandomSampler sampler({.first = 1, .second = 2});",
    "data::WeightedRandomSampler sampler({.first = 1, .second = 0.5}, 2);",
    "data::Normalize normalize{.mean = {.r = 1, .g = 0.5}, .std = {1}};",
    "data::Transforms transforms({.count = 2, .value = data::Transform{}});",
    'data::CsvDatasetOptions options{.features = {.count = 2, .value = "x"}};',
    'data::Mnist digits({.folder = "mnist", .split = 1});',
    'data::Cifar10 images({.folder = "cifar", .version = 3});',
    'data::Echo echo({.folder = "echo", .length = 2});',
    'data::read_image({.path = "image.png", .mode = 5});',
    'load({.path = "net.npz", .version = 3});',
    'npy::load({.path = "net.npy", .version = 3});',
    'npy::save(x, {.path = "net.npy", .version = 3});',
    'npz::load({.path = "net.npz", .version = 3});',
    'npz::Reader file({.path = "net.npz", .version = 3});',
    'npz::Reader("net.npz").tensor({.name = "weight", .version = 3});',
    'npz::save({}, {.path = "net.npz", .version = 3});',
    'safetensors::load({.path = "net.safetensors", .version = 3});',
    'safetensors::Reader file({.path = "net.safetensors", .version = 3});',
    'safetensors::save({}, {.path = "net.safetensors", .version = 3});',
    'distributed::write_collectives({.path = "folder", .version = 3});',
    'onnx::load({.path = "net.onnx", .version = 3});',
    'onnx::load("net.onnx")({.count = 2, .value = x});',
    'onnx::load("net.onnx").forward({.count = 2, .value = x});',
    'report::Page page({.title = "Run", .level = 3});',
    'report::Page("Run").section({.title = "Data", .level = 3});',
    'report::Page("Run").paragraph({.text = "Data", .level = 3});',
    'report::Page("Run").figure({.svg = "<svg/>", .width = 3});',
    'report::Page("Run").save({.path = "report.html", .version = 3});',
    'report::EventWriter events({.folder = "run", .version = 3});',
    'report::EventWriter("run").scalar({.tag = "loss", .step = 3}, 1, 2);',
    'Device device({.name = "cuda", .index = 3});',
    'save(x, {.path = "net.npy", .version = 3});',
    'State().save({.path = "net.safetensors", .keep_previous = 3});',
)

# A wrong name in braces, and the options of which the notes behind the first error say that they don't fit: these list the names.
WRONG_OPTIONS = (
    ("nn::Conv2d layer(3, 8, 3, {.strides = 2});", "nn::ConvOptions"),
    ("conv2d(x, y, {}, {.strides = 2});", "ConvolutionOptions"),
    ("Net net; optim::Adam optimizer(net.parameters(), {.learning_rate = 1e-3});", "optim::AdamOptions"),
    ("x.sort({.reverse = true});", "SortOptions"),
    ("topk(x, 2, {.larges = true});", "TopkOptions"),
    ("unique(x, {.counts = true});", "UniqueOptions"),
    ("allclose(x, y, {.rel = 1e-3});", "CloseOptions"),
    ("histc(x, {.n = 3});", "HistcOptions"),
    ("nn::init::trunc_normal_(x, {.sigma = 3});", "TruncNormalOptions"),
    ("zeros({2}, {.type = f32});", "TensorOptions"),
    ("nn::LSTM layer(2, 3, {.layers = 2});", "nn::RecurrentOptions"),
    ("data::DataLoader loader(data::DatasetPointer{}, {.batchsize = 2});", "data::DataLoaderOptions"),
    ("nn::cross_entropy(x, y, {.weights = x});", "CrossEntropyOptions"),
)

# Forms that must stay: by name, by position, mixed with what may be left out.
FORMS = (
    "conv2d(x, y, {}, {.padding = {1, 1}});",
    "conv2d(x, y, y, {.stride = 2, .padding = 1});",
    'conv2d(x, y, {.padding = "same", .groups = 2});',
    "conv2d(x, y, y, {});",
    "conv2d(x, y, {}, {1, 2}, {0, 1}, {1}, 1);",
    "conv2d(x, y, {}, 2, 1);",
    'conv1d(x, y, {}, 1, "valid");',
    "conv_transpose3d(x, y, {.stride = 2, .output_padding = 1});",
    "max_pool2d(x, 3, {.stride = 2, .padding = 1});",
    "max_pool2d(x, 2);",
    "max_pool2d(x, {2, 2}, {2, 2});",
    "max_pool3d(x, 2, {});",
    "avg_pool1d(x, 2, {.count_include_pad = false});",
    "x.sort({.descending = true}); argsort(x, {.dim = 0}); topk(x, 2, {.largest = false}); x.unique({.return_counts = true});",
    "unique_dim(x, 0, {.return_inverse = true}); unique_consecutive(x, {.dim = 0}); histc(x, {.bins = 3, .max = 2});",
    "isclose(x, y, {.rtol = 0.1}); x.allclose(y, {.equal_nan = true}); nn::init::trunc_normal_(x, {.std = 0.02});",
    "topk(x, 2); topk(x, 2, 0, false); topk(x, 2, {}); sort(x, 1, true); unique(x, true, true); allclose(x, y, 0.1, 0.1); histc(x, 3);",
    "batch_norm(x, y, y); batch_norm(x, y, y, y, y, {.training = true, .momentum = 0.2});",
    "instance_norm(x); instance_norm(x, {}, {}, y, y, {.eps = 1e-3});",
    "nn::Conv2d layer(3, 8, {3, 5}, {.stride = 2, .padding = {1, 0}});",
    'nn::Conv2d layer(3, 8, 3, {.padding = "same"});',
    "zeros({2}, {.dtype = float32});",
    "x(0, 1); x[y]; x[Slice{1, 3}]; x(Ellipsis, None, Slice{});",
    "tensor({{1, 2}, {3, 4}}, {.dtype = float64}); tensor(2.5); tensor({{{1}}, {{2.5}}}); tensor(std::vector<float>{1, 2}, {2, 1});",
    "std::vector<Tensor> both{x, y}; cat(both); cat({x, y}, 1); stack(x.unbind()); split(x, {5}); split(x, 5); index(x, {0, y, None});",
    "optim::SGD optimizer({{.parameters = {x}, .options = {.lr = 1}}, {{y}, {}}}); optim::Adam other(std::vector<Tensor>{x, y});",
    'std::string path = "net.npy"; save(x, path); save({{"x", x}, {"y", y}}, path + "z"); load(path.c_str()); State state; state.save(path, 3);',
    "distributions::Bernoulli coin({.probs = 0.3}); distributions::Categorical c({.logits = x}); distributions::Gamma g(x, 2);",
    "distributions::Independent d(distributions::Normal(x, exp(y)), 1); d.sample({3}); d.expand({2}); (void)kl_divergence(d, d);",
    "using namespace distributions; TransformedDistribution d(Normal(x, 1), {AffineTransform(0, y), TanhTransform()}); d.log_prob(x);",
    "data::Normalize normalize{.mean = {0.5, 0}, .std = {1}}; normalize.mean = std::vector<double>{1}; normalize.std = {};",
)

# All of C++'s headers, and ops with names that are C++'s too.
ALIASES = """#include <bits/stdc++.h>
using namespace std;
"""
SHARED_NAMES = """
  for (Tensor z : {abs(x), acos(x), acosh(x), asin(x), asinh(x), atan(x), atan2(x, y), atanh(x), ceil(x), clamp(x, 0, 1), cos(x), cosh(x),
                   div(x, y), erf(x), erfc(x), exp(x), exp2(x), expm1(x), floor(x), fmod(x, y), hypot(x, y), isfinite(x),
                   isinf(x), isnan(x), lerp(x, y, 0.5), lgamma(x), log(x), log10(x), log1p(x), log2(x), max(x), min(x), norm(x), pow(x, 2),
                   rand({2}), remainder(x, 2), round(x), sin(x), sinh(x), sort(x).values, sqrt(x), tan(x), tanh(x), trunc(x),
                   unique(x).values, stddev(x), aorta::std(x), aorta::any(x), aorta::empty({2}), aorta::stack({x, y}), aorta::logical_not(x),
                   aorta::logical_and(x, y), aorta::logical_or(x, y), real(x), imag(aorta::complex(x, y)), conj(x),
                   abs(aorta::polar(x, y))})
    cout << z << equal(x, y) << to_string(z);
"""
AMBIGUOUS = ("std(x);", "any(x);", "Tensor z = empty({2});", "stack({x, y});", "logical_not(x);", "logical_and(x, y);", "logical_or(x, y);",
             "complex(x, y);")

FLAGS = ["-std=c++20", "-Wall", "-Wextra"]


def function(number, line):
    return "void f%d(Tensor x, Tensor y) { %s (void)x, (void)y; }\n" % (number, line)


class Compiles(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        cls.addClassCleanup(folder.cleanup)
        os.symlink(project.ROOT, os.path.join(folder.name, "aorta"))
        cls.include, cls.source = "-I" + folder.name, os.path.join(folder.name, "user.cc")
        # g++ reads the headers once for all programs of one standard.
        cls.header = os.path.join(folder.name, "user.h")
        with open(cls.header, "w", encoding="utf-8") as file:
            file.write("#include <aorta/aorta.h>\n")
        cls.precompiled = cls.run_compiler("g++", ["-x", "c++-header", "-o", cls.header + ".gch", cls.header])

    @classmethod
    def run_compiler(cls, compiler, arguments):
        done = subprocess.run([compiler, *FLAGS, cls.include, *arguments], stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "LC_ALL": "C.UTF-8"})
        return done.stdout

    def compile(self, text, compiler="g++", flags=()):
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(text)
        header = ["-include", self.header] if compiler == "g++" else []  # clang++ takes no file of g++
        return self.run_compiler(compiler, [*flags, "-fsyntax-only", *header, self.source])

    def test_the_headers_alone(self):
        self.assertEqual(self.precompiled, "")

    def first_errors(self, lines, before=""):
        """The first error about each of `lines`, which stand in functions of their own, with its notes; None where it compiles."""
        head = before + HEAD
        text = head + "".join(function(i, line) for i, line in enumerate(lines))
        start = head.count("\n")
        errors = {}
        for said in self.compile(text).split(self.source + ": In function")[1:]:
            at = re.search(re.escape(self.source) + r":(\d+):", said)
            errors[int(at[1]) - start - 1] = said.split("error: ")[1]
        return [errors.get(i) for i in range(len(lines))]

    def test_several_indices_in_brackets(self):
        line = "x[0, 1]; x[Slice{0, 2}, None, y];"
        self.assertEqual(self.compile(HEAD + function(0, line), flags=["-std=c++23", "-Werror"]), "")
        self.assertIn("[-Wcomma-subscript]", self.compile(HEAD + function(0, line)))

    def test_a_mistake_names_its_remedy(self):
        together = self.first_errors([line for line, _ in MISTAKES])
        for (line, remedy), said in zip(MISTAKES, together):
            if said and remedy in said.splitlines()[0]:
                continue
            # An error inside a template isn't said of the function that names it.
            with self.subTest(line):
                errors = [said for said in self.compile(HEAD + function(0, line)).splitlines() if "error: " in said]
                self.assertTrue(errors, "it compiles")
                self.assertIn(remedy, errors[0])

    def test_a_name_that_is_no_option_s_does_not_compile(self):
        for line, error in zip(STRAY_NAMES, self.first_errors(STRAY_NAMES)):
            with self.subTest(line):
                self.assertIsNotNone(error, "it compiles")

    def test_a_wrong_option_leads_to_the_options(self):
        errors = self.first_errors([line for line, _ in WRONG_OPTIONS])
        for (line, options), said in zip(WRONG_OPTIONS, errors):
            with self.subTest(line):
                self.assertRegex(said or "it compiles", "<brace-enclosed initializer list>.*%s|%s.*<brace-enclosed" % (options, options))

    def test_forms_of_calls(self):
        self.assertEqual(self.compile(HEAD + "".join(function(i, line) for i, line in enumerate(FORMS))), "")

    def test_beside_using_namespace_std(self):
        self.assertEqual(self.compile(ALIASES + HEAD + function(0, SHARED_NAMES)), "")
        # What docs/pytorch.md lists, and no more.
        with open(os.path.join(project.ROOT, "docs", "pytorch.md"), encoding="utf-8") as file:
            page = file.read()
        for line, error in zip(AMBIGUOUS, self.first_errors(AMBIGUOUS, ALIASES)):
            with self.subTest(line):
                self.assertIsNotNone(error, "it compiles")
                self.assertIn("`aorta::%s`" % re.search(r"\w+(?=\()", line)[0], page)

    def test_clang(self):
        self.assertTrue(shutil.which("clang++"), "clang++ must be there: tools/setup.sh --test")
        # The forms, all examples and the programs of PyTorch's users in one file: what the headers cost is paid once.
        includes, programs = set(), HEAD + "".join(function(i, line) for i, line in enumerate(FORMS))
        for path in sorted(glob.glob(os.path.join(project.ROOT, "examples", "*.cc"))):
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
            includes.update(line for line in lines if line.startswith("#include"))
            body = "\n".join(line for line in lines if not line.startswith("#include"))
            body = body.replace("int main(", "[[maybe_unused]] int program(")
            programs += "namespace %s_example {\n%s\n}\n" % (os.path.basename(path)[:-3], body)
        for name in "images", "sequences", "control":
            programs += '#include <aorta/tests/programs/%s.cc>\n' % name
        self.assertGreater(len(programs), 5000)
        # main alone may end without a return.
        self.assertEqual(self.compile("\n".join(sorted(includes)) + "\n" + programs, "clang++", ["-Wno-return-type"]), "")


if __name__ == "__main__":
    unittest.main()
