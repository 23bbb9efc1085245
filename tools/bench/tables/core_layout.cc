// Strided and broadcast operands: against the contiguous case with as many elements read and
// written, which is our own.
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

// What stands beside a strided case: it reads and writes as many bytes, of dense tensors.
Side contiguous(Side side, bool same_result) {
  side.name = "contiguous";
  if (!same_result) side.values = nullptr;
  return side;
}

Side sum_of(const Tensor& a, const Tensor& b) {
  return aorta_side([=] { return a + b; });
}

struct Layout {
  const char* name;
  int operands;  // read or written, of n * n * 4 bytes each
  Case (*make)(int64_t n);
};

std::string square(int64_t n, const char* name, int seed) {
  return fmt::format("{} = make(({}, {}), -1, 1, {})", name, n, n, seed);
}

Case transposed(int64_t n) {
  const Tensor a = make({n, n}, -1, 1, 1), b = make({n, n}, -1, 1, 2);
  return {.ours = sum_of(b, a.t()),
          .reference = contiguous(sum_of(b, a.t().contiguous()), true),
          .peer = torch_side(square(n, "a", 1) + "; " + square(n, "b", 2), "b + a.t()")};
}

Case broadcast(int64_t n, const Shape& shape) {
  const Tensor a = make({n, n}, -1, 1, 1), line = make(shape, -1, 1, 2);
  return {.ours = sum_of(a, line),
          .reference = contiguous(aorta_side([=] { return a + 1.5; }), false),
          .peer = torch_side(fmt::format("{}; line = make(({}, {}), -1, 1, 2)", square(n, "a", 1),
                                         shape[0], shape[1]),
                             "a + line")};
}

Case sliced(int64_t n) {
  const Tensor a = make({n, 2 * n}, -1, 1, 1).slice(1, 0, {}, 2), b = make({n, n}, -1, 1, 2);
  return {.ours = sum_of(a, b),
          .reference = contiguous(sum_of(a.contiguous(), b), true),
          .peer = torch_side(
              fmt::format("a = make(({}, {}), -1, 1, 1)[:, ::2]; {}", n, 2 * n, square(n, "b", 2)),
              "a + b")};
}

Case channels_last(int64_t n) {
  const int64_t side = n / 32;  // (16, 64, n/32, n/32): n * n elements
  const Shape shape{16, 64, side, side};
  const Tensor a = make(shape, -1, 1, 1), b = make(shape, -1, 1, 2);
  const std::string one = fmt::format(
      "make((16, 64, {}, {}), -1, 1, {{}}).to(memory_format=torch.channels_last)", side, side);
  return {.ours = sum_of(a.contiguous(MemoryFormat::channels_last),
                         b.contiguous(MemoryFormat::channels_last)),
          .reference = contiguous(sum_of(a, b), true),
          .peer = torch_side(fmt::format("a = {}; b = {}", fmt::format(fmt::runtime(one), 1),
                                         fmt::format(fmt::runtime(one), 2)),
                             "a + b")};
}

// Twice the elements of half the size.
Case half(int64_t n, DType dtype, const char* torch) {
  const auto operand = [&](int64_t seed) { return make({n, 2 * n}, -1, 1, seed, dtype); };
  const auto python = [&](const char* name, int seed) {
    return fmt::format("{} = make(({}, {}), -1, 1, {}, {})", name, n, 2 * n, seed, torch);
  };
  return {.ours = sum_of(operand(1), operand(2)),
          .reference = contiguous(sum_of(make({n, n}, -1, 1, 1), make({n, n}, -1, 1, 2)), false),
          .peer = torch_side(python("a", 1) + "; " + python("b", 2), "a + b")};
}

constexpr Layout kLayouts[] = {
    {"add a transposed matrix", 3, transposed},
    {"add a row to each", 2,
     [](int64_t n) {
       return broadcast(n, {1, n});
     }},
    {"add a column to each", 2,
     [](int64_t n) {
       return broadcast(n, {n, 1});
     }},
    {"add a slice of step 2", 3, sliced},
    {"add channels_last", 3, channels_last},
    {"add f16", 3, [](int64_t n) { return half(n, DType::f16, "torch.float16"); }},
    {"add bf16", 3, [](int64_t n) { return half(n, DType::bf16, "torch.bfloat16"); }},
};

}  // namespace

void add_layout_rows(Rows& rows, const Plan& plan) {
  const int64_t n = plan.size(4096, 128);
  for (const Layout& layout : kLayouts) {
    for (const int threads : plan.threads) {
      rows.push_back({.name = fmt::format("{}, {}", layout.name, plan.tiny ? "64 KB" : "64 MB"),
                      .threads = threads,
                      .unit = Unit::bytes,
                      .work = 4.0 * static_cast<double>(n * n * layout.operands),
                      .target = at_most(1.5),
                      .make = [&layout, n] { return layout.make(n); }});
    }
  }
}

}  // namespace aorta::bench
