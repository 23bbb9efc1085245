#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/total_norm.h>
#include <aorta/core/ops/update.h>
#include <aorta/tests/catalog/rows.h>
#include <gtest/gtest.h>

// The kernel over many tensors against the rule of one element, on any device. The rules themselves
// are held to PyTorch's trajectories and to closed forms in tests/optim.
namespace aorta::catalog {
namespace {

constexpr int kTensors = 52;  // more than a CUDA launch takes

UpdateNumbers<double> numbers_of(int64_t which) {
  UpdateNumbers<double> n;
  n.step_size = n.gradient_step = which == 0 ? 0.125 : 0.0625;
  n.sign = which == 0 ? 1 : -1;
  n.weight_decay = which == 0 ? 0 : 0.01;
  n.shrink = 0.99;
  n.momentum = n.decay = 0.9;
  n.mix = n.square_mix = 0.1;
  n.eps = 1e-3;
  n.root_scale = 0.5;
  return n;
}

struct Job {
  std::vector<Tensor> tensors[2 + kMaxUpdateStates];  // parameters, gradients, states
  std::vector<kernel::UpdateTensor> list;
};

// Sizes from 0 on, and one of `largest`, which may be beyond a piece of work; the numbers change
// within the list.
Job make_job(DType dtype, Device device, int64_t largest) {
  Job job;
  int64_t first = 0;
  for (int i = 0; i < kTensors; ++i) {
    const int64_t count = i == 40 ? largest : 13 * i % 101;
    kernel::UpdateTensor t{nullptr, nullptr, {}, count, first, i < 50 ? 0 : 1};
    for (int k = 0; k < 2 + kMaxUpdateStates; ++k) {
      const Tensor values = sin(arange(count, {.dtype = f64}) * (k + 1) + i);
      const DType wanted = k < 2 ? dtype : compute_dtype(dtype);
      // States are as running averages are: no root is of a negative number.
      const Tensor squares = square(values) * (k == 2 ? 1 : 0.1) + (k == 2 ? 0.5 : 0);
      const Tensor x = (k < 2 ? values : squares).to(wanted).to(device);
      job.tensors[k].push_back(x);
      if (k == 0) t.parameter = x.data();
      if (k == 1) t.gradient = x.data();
      if (k > 1) t.states[k - 2] = x.data();
    }
    job.list.push_back(t);
    first += count;
  }
  return job;
}

// Element by element, through the functor.
template <class F, class T>
void step(Job& job, DType dtype) {
  for (size_t i = 0; i < job.list.size(); ++i) {
    const UpdateNumbers<T> n(numbers_of(job.list[i].numbers));
    std::vector<T> columns[2 + kMaxUpdateStates];
    for (int k = 0; k < 2 + kMaxUpdateStates; ++k) columns[k] = job.tensors[k][i].to_vector<T>();
    for (size_t j = 0; j < columns[0].size(); ++j) {
      T s[kMaxUpdateStates] = {columns[2][j], columns[3][j], columns[4][j]};
      F()(n, columns[0][j], columns[1][j], s);
      for (int k = 0; k < F::states; ++k) columns[2 + k][j] = s[k];
    }
    for (int k = 0; k < 2 + kMaxUpdateStates; ++k)
      job.tensors[k][i] = tensor(columns[k]).to(k < 2 ? dtype : compute_dtype(dtype));
  }
}

void check_update(Device device) {
  for (int rule = 0; rule < kUpdateRules; ++rule) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      SCOPED_TRACE("rule " + std::to_string(rule) + ", " + name(dtype));
      const int64_t largest = rule % 7 == 0 ? 33001 : 301;
      Job job = make_job(dtype, device, largest), expected = make_job(dtype, "cpu", largest);
      const UpdateNumbers<double> numbers[] = {numbers_of(0), numbers_of(1)};
      kernel::update_op.kernel(device)({static_cast<UpdateRule>(rule), dtype, job.list, numbers});
      scalar::with_update(static_cast<UpdateRule>(rule), [&]<class F>(F) {
        if (dtype == DType::f64)
          step<F, double>(expected, dtype);
        else
          step<F, float>(expected, dtype);
      });
      for (int k = 0; k < 2 + kMaxUpdateStates; ++k) {
        for (size_t i = 0; i < job.list.size(); ++i) {
          ASSERT_EQ(job.tensors[k][i].to_vector<double>(),
                    expected.tensors[k][i].to_vector<double>())
              << "column " << k << " of tensor " << i;
        }
      }
    }
  }
}

// The norm of all elements of many tensors, where a device takes them together.
void check_total_norm(Device device) {
  if (!kernel::total_norm_op.has_kernel(device.type)) return;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    std::vector<Tensor> tensors, flat;
    for (int i = 0; i < 170; ++i) {  // more than a launch takes
      tensors.push_back(sin(arange(1 + 31 * i % 90, {.dtype = f64}) + i).to(dtype).to(device));
      flat.push_back(tensors.back().cpu().to(f64));
    }
    for (const double p : {0.0, 1.0, 2.0, 2.5, double(INFINITY), -double(INFINITY)}) {
      const double wanted = norm(cat(flat), p).item<double>();
      EXPECT_NEAR(kernel::total_norm(tensors, p).item<double>(), wanted, 1e-12 * wanted)
          << name(dtype) << " " << p;
    }
  }
}

}  // namespace

std::vector<Row> update_rows() {
  return {{.op = "update", .property = check_update},
          {.op = "total_norm", .property = check_total_norm}};
}

}  // namespace aorta::catalog
