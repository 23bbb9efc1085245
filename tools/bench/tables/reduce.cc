// Reductions over the rows and the columns of a 16 MB matrix.
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

struct Reduction {
  const char* name;
  Tensor (*run)(const Tensor& x, int64_t dim);
  const char* torch;
};

constexpr Reduction kReductions[] = {
    {"sum", [](const Tensor& x, int64_t dim) { return sum(x, dim); }, "x.sum(dim)"},
    {"amax", [](const Tensor& x, int64_t dim) { return amax(x, dim); }, "x.amax(dim)"},
    {"max with indices", [](const Tensor& x, int64_t dim) { return max(x, dim).values; },
     "x.max(dim)[0]"},
    {"argmax", [](const Tensor& x, int64_t dim) { return argmax(x, dim); }, "x.argmax(dim)"},
    {"var", [](const Tensor& x, int64_t dim) { return var(x, dim); }, "x.var(dim)"},
    {"norm", [](const Tensor& x, int64_t dim) { return norm(x, 2, dim); },
     "torch.linalg.vector_norm(x, 2, dim)"},
    {"logsumexp", [](const Tensor& x, int64_t dim) { return logsumexp(x, dim); },
     "x.logsumexp(dim)"},
    {"softmax", [](const Tensor& x, int64_t dim) { return softmax(x, dim); }, "x.softmax(dim)"},
    {"log_softmax", [](const Tensor& x, int64_t dim) { return log_softmax(x, dim); },
     "x.log_softmax(dim)"},
};

Case reduction_case(const Reduction& reduction, int64_t n, int64_t dim) {
  const Tensor x = make({n, n}, -2, 3);
  const auto run = reduction.run;
  return {.ours = aorta_side([=] { return run(x, dim); }),
          .peer = torch_side(fmt::format("x = make(({}, {}), -2, 3); dim = {}", n, n, dim),
                             reduction.torch)};
}

}  // namespace

Rows reduce_rows(const Plan& plan) {
  Rows rows;
  const int64_t n = plan.size(2048, 64);
  for (const Reduction& reduction : kReductions) {
    for (const int64_t dim : {1, 0}) {
      for (const int threads : plan.threads) {
        rows.push_back(
            {.name = fmt::format("{} {}, {}x{}", reduction.name,
                                 dim ? "of each row" : "of each column", n, n),
             .threads = threads,
             .make = [&reduction, n, dim] { return reduction_case(reduction, n, dim); }});
      }
    }
  }
  return rows;
}

}  // namespace aorta::bench
