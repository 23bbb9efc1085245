// Every differentiable op of the catalogue, forward and backward, by size, dtype and threads.
#include <aorta/autograd/backward.h>
#include <aorta/core/check.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/tools/bench/peer.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/sweep.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>

namespace aorta::bench {
namespace {

namespace fs = std::filesystem;
using catalog::Tensors;

constexpr double kLongest = 4;  // seconds a run, beyond which the largest size is left out

// The inputs of some rows, and files of them for the peer, as long as they are in use.
class Inputs {
 public:
  explicit Inputs(Tensors tensors, const std::vector<bool>& varied)
      : tensors_(std::move(tensors)), varied_(varied) {
    std::string folder = (fs::temp_directory_path() / "aorta_sweep_XXXXXX").string();
    check(mkdtemp(folder.data()), "bench", "a folder can be made", folder);
    folder_ = folder;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      tensors_[i] = tensors_[i].contiguous();
      std::ofstream file(path(i), std::ios::binary);
      file.write(static_cast<const char*>(tensors_[i].data()), tensors_[i].nbytes());
      file.close();
      check(file.good(), "bench", "a file that can be written", path(i));
    }
  }
  ~Inputs() {
    std::error_code error;
    fs::remove_all(folder_, error);
  }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  const Tensors& tensors() const { return tensors_; }
  // As peer_sweep.py's case() takes them.
  std::string in_python() const {
    std::string text = "(";
    for (size_t i = 0; i < tensors_.size(); ++i) {
      std::string shape;
      for (const int64_t n : tensors_[i].shape()) shape += fmt::format("{},", n);
      text += fmt::format("('{}', ({}), '{}', {}), ", path(i), shape,
                          torch_name(tensors_[i].dtype()), varied_[i] ? "True" : "False");
    }
    return text + ")";
  }

 private:
  static const char* torch_name(DType dtype) {
    switch (dtype) {
      case DType::f32:
        return "float32";
      case DType::f64:
        return "float64";
      case DType::f16:
        return "float16";
      case DType::bf16:
        return "bfloat16";
      case DType::i64:
        return "int64";
      case DType::i32:
        return "int32";
      case DType::u8:
        return "uint8";
      case DType::boolean:
        return "bool";
      case DType::c64:
        return "complex64";
      case DType::c128:
        return "complex128";
    }
    return "";
  }
  std::string path(size_t i) const { return fmt::format("{}/{}", folder_, i); }

  Tensors tensors_;
  std::vector<bool> varied_;
  std::string folder_;
};

struct Cell {
  SweepOp op;
  DType dtype;
  int64_t elements;
  bool backward, checked;
  bool processor_time;

  // An input that varies and is a floating one.
  bool is_leaf(size_t i, const Tensor& input) const {
    return op.sample->varied[i] && is_floating(input.dtype());
  }
  // In bf16 many elements are equal, and which of them gets a gradient is each side's choice.
  bool checks_places() const {
    return !backward || (dtype == DType::f32 && !op.row->jumps_at_whole_quotients);
  }
  double tolerance() const { return dtype == DType::f32 && checks_places() ? 1e-3 : 0.05; }
};

Tensors of_dtype(const SweepOp& op, const Tensors& inputs, DType dtype) {
  Tensors result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool floating = op.sample->varied[i] && is_floating(inputs[i].dtype());
    result.push_back(floating ? inputs[i].to(dtype) : inputs[i]);
  }
  return result;
}

// The inputs of the last cell, where they are this one's.
std::shared_ptr<Inputs> inputs_of(const Cell& cell) {
  static std::shared_ptr<Inputs> last;
  static std::string last_key;
  const std::string key = fmt::format("{} {} {}", cell.op.row->op, name(cell.dtype), cell.elements);
  if (key != last_key) {
    last.reset();
    last = std::make_shared<Inputs>(
        of_dtype(cell.op, sweep_inputs(cell.op, cell.elements), cell.dtype),
        cell.op.sample->varied);
    last_key = key;
  }
  return last;
}

// Weights that tell elements apart.
Tensor weights_for(const Tensor& output) {
  constexpr int64_t kPeriod = 11;
  const int64_t n = output.numel();
  const Tensor row = remainder(arange(kPeriod, {.dtype = DType::f32}) * 7, kPeriod) * 0.125 + 0.25;
  return repeat(row, {n / kPeriod + 1}).narrow(0, 0, n).reshape(output.shape()).to(output.dtype());
}

std::function<Tensors()> work_of(const Cell& cell, const Tensors& inputs) {
  const auto run = cell.op.sample->call->run;
  if (!cell.backward) return [=] { return run(inputs); };
  Tensors leaves, wanted, used, weights;
  for (size_t i = 0; i < inputs.size(); ++i) {
    leaves.push_back(inputs[i]);
    if (!cell.is_leaf(i, inputs[i])) continue;
    leaves.back() = inputs[i].clone();
    wanted.push_back(leaves.back().requires_grad_());
  }
  for (const Tensor& output : run(leaves)) {
    if (!output.defined() || !output.requires_grad()) continue;
    used.push_back(output);
    weights.push_back(weights_for(output));
  }
  return [=] {
    return autograd::grad(used, wanted, weights, {.retain_graph = true, .allow_unused = true});
  };
}

// The processor's time, which others that use the machine don't lengthen: of one thread alone.
double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Case case_of(const Cell& cell) {
  if (cell.elements > 1'000'000) {
    const Tensors fewer = sweep_inputs(cell.op, cell.elements / 100);
    const double start = seconds_now();
    cell.op.sample->call->run(fewer);
    const double seconds = (seconds_now() - start) * 100;
    if (seconds > kLongest) {
      return {.ours = {.name = "Aorta", .missing = "left out, as a run takes too long"}};
    }
  }
  const std::shared_ptr<Inputs> inputs = inputs_of(cell);
  const std::function<Tensors()> work = work_of(cell, inputs->tensors());
  const auto now = cell.processor_time ? processor_seconds : seconds_now;
  const char* const clock =
      cell.processor_time ? "import time; perf_counter = time.process_time; " : "";
  const std::string setup =
      fmt::format("{}import peer_sweep; run, exact = peer_sweep.case('{}', '{}/{}', {}, {})", clock,
                  cell.op.row->family, cell.op.row->op, cell.op.sample->name, inputs->in_python(),
                  cell.backward ? "True" : "False");
  Case sides{.ours = {.name = "Aorta",
                      .run =
                          [=](int64_t repetitions) {
                            const double start = now();
                            for (int64_t i = 0; i < repetitions; ++i) work();
                            return now() - start;
                          }},
             .peer = torch_side(setup, "run()", cell.checks_places() ? "samples" : "all_moments")};
  if (!cell.checked) return sides;
  sides.ours.values = [=] {
    Tensors results = work();
    for (size_t i = 0, next = 0; cell.backward && i < inputs->tensors().size(); ++i) {
      if (!cell.is_leaf(i, inputs->tensors()[i])) continue;
      Tensor& gradient = results[next++];
      if (!gradient.defined()) gradient = zeros_like(inputs->tensors()[i]);
    }
    return cell.checks_places() ? samples(results) : all_moments(results);
  };
  return sides;
}

// nextafter has no half types.
bool takes(const SweepOp& op, DType dtype) {
  catalog::Tensors inputs = op.sample->inputs;
  for (Tensor& input : inputs)
    if (input.defined() && is_floating(input.dtype())) input = input.to(dtype);
  try {
    op.sample->call->run(inputs);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Rows sweep_rows(const Plan& plan) {
  if (!std::getenv("AORTA_FIXTURES")) {
    setenv("AORTA_FIXTURES", bench_file("../../tests/fixtures").c_str(), 0);
  }
  const std::vector<int64_t> sizes = plan.tiny ? std::vector<int64_t>{10, 1000}

                                               : std::vector<int64_t>{1000, 100'000, 10'000'000};
  Rows rows;
  std::string why;
  for (const catalog::Row& row : catalog::rows()) {
    const std::optional<SweepOp> op = sweep_op(row, why);
    if (!op) continue;
    for (const bool backward : {false, true}) {
      const bool checked = !backward || op->sample->call->gradient_is_pytorchs;
      for (const DType dtype : {DType::f32, DType::bf16}) {
        if (!takes(*op, dtype)) continue;
        for (const int64_t elements : sizes) {
          for (const int threads : plan.threads) {
            const Cell cell{*op,
                            dtype,
                            elements,
                            backward,
                            checked && threads == plan.threads[0],
                            plan.threads == std::vector<int>{1}};
            rows.push_back(
                {.name = fmt::format("{} {}, {}, 1e{}", row.op, backward ? "backward" : "forward",
                                     name(dtype), std::lround(std::log10(elements))),
                 .threads = threads,
                 .tolerance = cell.tolerance(),
                 .make = [cell] { return case_of(cell); },
                 .rounds = plan.tiny ? 1 : 0,
                 .hurried = true});
          }
        }
      }
    }
  }
  return rows;
}

}  // namespace aorta::bench
