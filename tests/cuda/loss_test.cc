// Losses on a GPU against the CPU: numbers of elements, lines and classes that several blocks
// share, and what the catalogue's samples are too small for.
#include <aorta/autograd/backward.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/tests/cuda/gpu.h>
#include <aorta/tests/error_text.h>

using namespace aorta;
using gpu_test::difference;
using gpu_test::random_values;
using gpu_test::tolerance;

namespace {

using CudaLosses = gpu_test::Gpu;

}  // namespace

TEST_F(CudaLosses, SumsOfManyElements) {
  const Tensor x = random_values({9, 313}, f32, 1, false);
  const Tensor t = random_values({9, 313}, f32, 2, false);
  for (const Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum}) {
    for (const auto& loss : {mse_loss, l1_loss}) {
      const Tensor wanted = loss(x, t, reduction, {});
      gpu_test::poison(wanted.nbytes());
      EXPECT_EQ(difference(loss(x.cuda(), t.cuda(), reduction, {}), wanted, 1e-6, 0), "");
      const Tensor weight = x.abs(), weighted = loss(x, t, reduction, weight);
      EXPECT_EQ(difference(loss(x.cuda(), t.cuda(), reduction, weight.cuda()), weighted, 1e-6, 0),
                "");
    }
  }
  const Tensor nothing = empty({0}, {.device = "cuda"});
  EXPECT_TRUE(std::isnan(mse_loss(nothing, nothing).item<float>()));
  EXPECT_EQ(mse_loss(nothing, nothing, Reduction::sum).item<float>(), 0.0f);
}

TEST_F(CudaLosses, TheFirstInputOutsideTheDomainIsNamed) {
  const Tensor x = full({5000}, 0.5, {.device = "cuda"}), t = ones({5000}, {.device = "cuda"});
  EXPECT_NO_THROW(binary_cross_entropy(x, t));
  x.narrow(0, 4000, 500).fill_(1.5);
  x.narrow(0, 3000, 1).fill_(-2);
  binary_cross_entropy(x, t);
  EXPECT_EQ(error_of([] { synchronize("cuda:0"); }),
            gpu_test::bad_value_text("binary_cross_entropy", 3000));
}

TEST_F(CudaLosses, ClassesOfEveryNumber) {
  for (DType dtype : {f32, f64, f16, bf16}) {
    const double unit = tolerance(dtype);
    for (const Shape& shape :
         {Shape{1100, 3}, Shape{9, 40}, Shape{2, 1100}, Shape{3, 5, 9, 7}, Shape{2, 1100, 2, 1}}) {
      if (dtype != f32 && shape.numel() > 1000) continue;
      SCOPED_TRACE(to_string(shape) + " " + name(dtype));
      const int64_t classes = shape[1];
      Shape lines = shape;
      lines.erase(1);
      const Tensor x = random_values(shape, dtype, 1, false);
      Generator generator(3);
      const Tensor target = randint(0, classes, lines, {.dtype = i64}, &generator);
      const Tensor weight = rand({classes}, {.dtype = dtype}, &generator) + 0.5;
      const Tensor p = softmax(random_values(shape, dtype, 4, false), 1);
      const auto compare = [&](const Tensor& goal, const CrossEntropyOptions& options) {
        CrossEntropyOptions there = options;
        if (options.weight.defined()) there.weight = options.weight.cuda();
        const Tensor wanted = cross_entropy(x, goal, options);
        gpu_test::poison(wanted.nbytes());
        EXPECT_EQ(
            difference(cross_entropy(x.cuda(), goal.cuda(), there), wanted, 8 * unit, 8 * unit),
            "");
        if (shape.size() != 4) return;
        const MemoryFormat last = MemoryFormat::channels_last;
        const Tensor turned = goal.dim() == 4 ? goal.contiguous(last) : goal;
        EXPECT_EQ(difference(cross_entropy(x.cuda().contiguous(last), turned.cuda(), there), wanted,
                             8 * unit, 8 * unit),
                  "");
      };
      compare(target, {});
      compare(target, {.weight = weight, .ignore_index = 1, .label_smoothing = 0.1});
      compare(target, {.ignore_index = 0, .reduction = Reduction::none});
      compare(p, {.weight = weight, .label_smoothing = 0.2});
      const Tensor log_p = log_softmax(x, 1);
      EXPECT_EQ(difference(nll_loss(log_p.cuda(), target.cuda(), {.weight = weight.cuda()}),
                           nll_loss(log_p, target, {.weight = weight}), 8 * unit, 8 * unit),
                "");
    }
  }
}

// Lines that a warp or a block keeps, that are read twice, and that blocks share.
TEST_F(CudaLosses, GradientsOfSoftmaxEqualTheCpus) {
  struct Way {
    Shape shape;
    int64_t dim;
  };
  for (const Way& way : {Way{{70, 40}, 1}, Way{{9, 313}, 1}, Way{{3, 2048}, 1}, Way{{2, 4095}, 1},
                         Way{{1, 9001}, 1}, Way{{5, 6, 7}, 1}, Way{{3000, 2}, 0}, Way{{2, 1}, 1}}) {
    for (const DType dtype : {f32, f64, f16, bf16}) {
      const double unit = tolerance(dtype);
      const Tensor x = random_values(way.shape, dtype, 5, false);
      const Tensor g = random_values(way.shape, dtype, 6, false);
      for (const auto& f : {softmax, log_softmax}) {
        const auto gradient = [&](const Tensor& input, const Tensor& of_result) {
          const Tensor leaf = input.detach().requires_grad_();
          f(leaf, way.dim, {}).backward(of_result);
          return leaf.grad();
        };
        const Tensor wanted = gradient(x, g), on_gpu = x.cuda();
        gpu_test::poison(wanted.nbytes());
        EXPECT_EQ(difference(gradient(on_gpu, g.cuda()), wanted, 16 * unit, 16 * unit), "")
            << to_string(way.shape);
        const Tensor turned = g.cuda().transpose(0, 1).contiguous().transpose(0, 1);
        EXPECT_EQ(difference(gradient(on_gpu, turned), wanted, 16 * unit, 16 * unit), "");
      }
    }
  }
}

TEST_F(CudaLosses, TheFirstTargetOutOfRangeIsNamed) {
  const Tensor x = ones({2000, 5}, {.device = "cuda"});
  const Tensor target = zeros({2000}, {.dtype = i64, .device = "cuda"});
  target.narrow(0, 1500, 100).fill_(9);
  target.narrow(0, 700, 1).fill_(7);
  cross_entropy(x, target);
  EXPECT_EQ(error_of([] { synchronize("cuda:0"); }),
            gpu_test::bad_value_text("cross_entropy", 700));
  nll_loss(x, target);
  EXPECT_EQ(error_of([] { synchronize("cuda:0"); }), gpu_test::bad_value_text("nll_loss", 700));
}

TEST_F(CudaLosses, OneSeedDropsTheSameElements) {
  for (DType dtype : {f32, f64, f16, bf16}) {
    for (const int64_t n : {int64_t{1}, int64_t{4}, int64_t{1003}}) {
      Generator a(7, 3), b(7, 3);
      const Tensor x = random_values({n + 1}, dtype, 1, false);
      EXPECT_EQ(difference(dropout(x.cuda(), 0.3, true, &a), dropout(x, 0.3, true, &b), 0, 0), "");
      // An odd place in memory, and in place.
      const Tensor odd = x.cuda().narrow(0, 1, n), wanted = x.narrow(0, 1, n);
      dropout_(odd, 0.6, true, &a);
      EXPECT_EQ(difference(odd, dropout(wanted, 0.6, true, &b), 0, 0), "");
      EXPECT_EQ(a.state(), b.state());
    }
  }
  EXPECT_EQ(dropout(ones({9}, {.device = "cuda"}), 1.0).to_vector<float>(),
            std::vector<float>(9, 0.0f));
}
