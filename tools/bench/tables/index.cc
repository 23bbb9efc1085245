// Moving elements: joining, picking, transposing. 16 MB come out.
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

struct Move {
  const char* name;
  Tensor (*run)(const Tensor& x, const Tensor& lines, const Tensor& places);
  const char* torch;
};

// x (n, n); lines (n) and places (n, n) are i64 in [0, n).
constexpr Move kMoves[] = {
    {"cat of two, dim 0",
     [](const Tensor& x, const Tensor&, const Tensor&) {
       return cat({x.slice(0, 0, x.size(0) / 2), x.slice(0, x.size(0) / 2)}, 0);
     },
     "torch.cat([x[:h], x[h:]], 0)"},
    {"cat of two, dim 1",
     [](const Tensor& x, const Tensor&, const Tensor&) {
       return cat({x.slice(1, 0, x.size(1) / 2), x.slice(1, x.size(1) / 2)}, 1);
     },
     "torch.cat([x[:, :h], x[:, h:]], 1)"},
    {"index_select of rows",
     [](const Tensor& x, const Tensor& lines, const Tensor&) { return index_select(x, 0, lines); },
     "x.index_select(0, lines)"},
    {"index_select of columns",
     [](const Tensor& x, const Tensor& lines, const Tensor&) { return index_select(x, 1, lines); },
     "x.index_select(1, lines)"},
    {"gather along rows",
     [](const Tensor& x, const Tensor&, const Tensor& places) { return gather(x, 1, places); },
     "x.gather(1, places)"},
    {"gather along columns",
     [](const Tensor& x, const Tensor&, const Tensor& places) { return gather(x, 0, places); },
     "x.gather(0, places)"},
    {"scatter_add along rows",
     [](const Tensor& x, const Tensor&, const Tensor& places) {
       return scatter_add(x, 1, places, x);
     },
     "x.scatter_add(1, places, x)"},
    {"transposing copy",
     [](const Tensor& x, const Tensor&, const Tensor&) { return x.t().contiguous(); },
     "x.t().contiguous()"},
    {"flip of columns", [](const Tensor& x, const Tensor&, const Tensor&) { return flip(x, {1}); },
     "x.flip(1)"},
    {"masked_fill",
     [](const Tensor& x, const Tensor&, const Tensor& places) {
       return masked_fill(x, lt(places, x.size(0) / 2), 0.0);
     },
     "x.masked_fill(places < h, 0.0)"},
};

Case move_case(const Move& move, int64_t n) {
  const Tensor x = make({n, n}, -1, 1);
  const Tensor lines = make({n}, 0, static_cast<double>(n), 1, DType::i64);
  const Tensor places = make({n, n}, 0, static_cast<double>(n), 2, DType::i64);
  const auto run = move.run;
  return {.ours = aorta_side([=] { return run(x, lines, places); }),
          .peer = torch_side(fmt::format("n = {}; h = n // 2; x = make((n, n), -1, 1); "
                                         "lines = make((n,), 0, n, 1, torch.int64); "
                                         "places = make((n, n), 0, n, 2, torch.int64)",
                                         n),
                             move.torch)};
}

}  // namespace

Rows index_rows(const Plan& plan) {
  Rows rows;
  const int64_t n = plan.size(2048, 64);
  for (const Move& move : kMoves) {
    for (const int threads : plan.threads) {
      rows.push_back({.name = fmt::format("{}, {}x{}", move.name, n, n),
                      .threads = threads,
                      .make = [&move, n] { return move_case(move, n); }});
    }
  }
  return rows;
}

}  // namespace aorta::bench
