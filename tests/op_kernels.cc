#include <aorta/core/ops/copy.h>
#include <aorta/tests/op_kernels.h>

#include <vector>

namespace aorta::catalog {

using kernel::first_op;
using kernel::OpRow;

namespace {

// An op's CPU kernel as the table keeps it, whatever its type.
class AnyOp : public OpRow {
 public:
  static Function kernel(const OpRow& op) { return (op.*&AnyOp::find_kernel)(DeviceType::cpu); }
  static void set_kernel(const OpRow& op, Function kernel) {
    (const_cast<OpRow&>(op).*&AnyOp::set_kernel_function)(DeviceType::cpu, kernel);
  }
};

// While it lives, the table has the CPU kernels of `kept` alone.
class KernelsOf {
 public:
  explicit KernelsOf(const std::set<std::string>& kept) {
    for (const OpRow* op = first_op(); op; op = op->next()) {
      if (!op->has_kernel(DeviceType::cpu) || kept.contains(op->name())) continue;
      taken_.emplace_back(op, AnyOp::kernel(*op));
    }
    for (const auto& [op, kernel] : taken_) AnyOp::set_kernel(*op, nullptr);
  }
  ~KernelsOf() {
    for (const auto& [op, kernel] : taken_) AnyOp::set_kernel(*op, kernel);
  }
  KernelsOf(const KernelsOf&) = delete;
  KernelsOf& operator=(const KernelsOf&) = delete;

 private:
  std::vector<std::pair<const OpRow*, void (*)()>> taken_;
};

Tensors copies_of(const Tensors& inputs) {
  Tensors copies;
  for (const Tensor& input : inputs) copies.push_back(input.clone());
  return copies;
}

bool fits_in_place(const Call& call, const Tensors& inputs) {
  const Tensor result = call.run(inputs)[0];
  return result.shape() == inputs[0].shape() && can_cast(result.dtype(), inputs[0].dtype());
}

}  // namespace

const OpRow* find_op(const std::string& name) {
  for (const OpRow* op = first_op(); op; op = op->next()) {
    if (op->name() == name) return op;
  }
  return nullptr;
}

std::set<std::string> kernels_run(const std::function<void(const Tensors&)>& run,
                                  const Tensors& inputs) {
  std::set<std::string> found;
  while (true) {
    const Tensors copies = copies_of(inputs);
    const KernelsOf table(found);
    try {
      run(copies);
      return found;
    } catch (const kernel::MissingKernel& error) {
      if (!found.insert(error.op()).second) throw;  // it has none at all
    }
  }
}

std::set<std::string> kernels_run(const Row& row) {
  std::set<std::string> found;
  for (const Sample& sample : samples(row)) {
    found.merge(kernels_run(sample.call->run, sample.inputs));
    if (sample.call->in_place && fits_in_place(*sample.call, sample.inputs))
      found.merge(kernels_run(sample.call->in_place, sample.inputs));
  }
  return found;
}

std::string missing_kernel(const Row& row, DeviceType device) {
  std::vector<std::string> names = {row.op};
  names.insert(names.end(), row.also.begin(), row.also.end());
  for (const std::string& name : names) {
    const OpRow* op = find_op(name);
    if (op && op->has_kernel(DeviceType::cpu) && !op->has_kernel(device)) return name;
  }
  return {};
}

}  // namespace aorta::catalog
