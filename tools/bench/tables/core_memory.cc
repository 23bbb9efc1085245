// Ops on 64 MB, which memory bounds: against memcpy of the same bytes (read + written).
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

struct MemoryOp {
  const char* name;
  Tensor (*run)(const Tensor& a, const Tensor& b);
  const char* torch;
  int inputs;
  bool writes;   // as much as an input; else next to nothing
  double share;  // of memcpy's speed
};

constexpr MemoryOp kOps[] = {
    {"add", [](const Tensor& a, const Tensor& b) { return a + b; }, "a + b", 2, true, 0.85},
    {"mul by a number", [](const Tensor& a, const Tensor&) { return a * 1.5; }, "a * 1.5", 1, true,
     0.85},
    {"exp", [](const Tensor& a, const Tensor&) { return exp(a); }, "torch.exp(a)", 1, true, 0.85},
    {"sigmoid", [](const Tensor& a, const Tensor&) { return sigmoid(a); }, "torch.sigmoid(a)", 1,
     true, 0.85},
    {"relu", [](const Tensor& a, const Tensor&) { return relu(a); }, "torch.relu(a)", 1, true,
     0.85},
    {"sum", [](const Tensor& a, const Tensor&) { return sum(a); }, "a.sum()", 1, false, 0.85},
    {"mean", [](const Tensor& a, const Tensor&) { return mean(a); }, "a.mean()", 1, false, 0.85},
    {"tanh", [](const Tensor& a, const Tensor&) { return tanh(a); }, "torch.tanh(a)", 1, true,
     0.45},
    {"erf", [](const Tensor& a, const Tensor&) { return erf(a); }, "torch.erf(a)", 1, true, 0.45},
    {"gelu", [](const Tensor& a, const Tensor&) { return gelu(a); }, "F.gelu(a)", 1, true, 0.45},
};

Case memory_case(const MemoryOp& op, int64_t numel, double bytes) {
  const Tensor a = make({numel}, -2, 3, 1);
  const Tensor b = op.inputs == 2 ? make({numel}, -2, 3, 2) : Tensor();
  std::string setup = fmt::format("a = make(({},), -2, 3, 1)", numel);
  if (op.inputs == 2) setup += fmt::format("; b = make(({},), -2, 3, 2)", numel);
  const auto run = op.run;
  return {.ours = aorta_side([=] { return run(a, b); }),
          .reference = memcpy_side(bytes),
          .peer = torch_side(setup, op.torch)};
}

}  // namespace

void add_memory_rows(Rows& rows, const Plan& plan) {
  const int64_t numel = plan.size(16 << 20, 16 << 10);
  for (const MemoryOp& op : kOps) {
    const double bytes = 4.0 * static_cast<double>(numel) * (op.inputs + op.writes);
    for (const int threads : plan.threads) {
      rows.push_back({.name = fmt::format("{}, {}", op.name, plan.tiny ? "64 KB" : "64 MB"),
                      .threads = threads,
                      .unit = Unit::bytes,
                      .work = bytes,
                      .target = at_least(op.share),
                      .make = [&op, numel, bytes] { return memory_case(op, numel, bytes); }});
    }
  }
}

}  // namespace aorta::bench
