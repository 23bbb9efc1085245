#include <aorta/optim/multi_tensor.h>

#include <aorta/core/ops/creation.h>
#include <aorta/core/recording.h>
#include <aorta/core/written.h>

#include <algorithm>

namespace aorta::optim {

bool is_dense(const Tensor& tensor) {
  if (tensor.numel() == 0) return true;
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (int d = 0; d < tensor.dim(); ++d) {
    if (tensor.shape()[d] != 1) dims.emplace_back(tensor.strides()[d], tensor.shape()[d]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t next = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != next) return false;
    next *= size;
  }
  return true;
}

bool has_strides(const Tensor& tensor, const Strides& strides) {
  for (int d = 0; d < tensor.dim(); ++d) {
    if (tensor.strides()[d] != strides[d] && tensor.shape()[d] != 1) return false;
  }
  return true;
}

namespace {

// The tensors of one dtype on one device, and what keeps copies alive.
struct Batch {
  DType dtype;
  Device device;
  std::vector<kernel::UpdateTensor> tensors;
  std::vector<Tensor> kept;
  std::vector<std::pair<Tensor, Tensor>> copied;  // target, copy
};

void add(Batch& batch, const Tensor& target, const Tensor* value) {
  Tensor place = target.detach();
  if (!is_dense(place)) {
    const Tensor copy = place.clone(MemoryFormat::contiguous);
    batch.copied.emplace_back(place, copy);
    place = copy;
  }
  Tensor paired;
  if (value) {
    paired = value->detach().to({.dtype = batch.dtype, .device = batch.device});
    if (!has_strides(paired, place.strides())) {
      const Tensor laid = empty_strided(place.shape(), place.strides(),
                                        {.dtype = batch.dtype, .device = batch.device});
      laid.copy_(paired);
      paired = laid;
    }
    batch.kept.push_back(paired);
  }
  const int64_t first =
      batch.tensors.empty() ? 0 : batch.tensors.back().first + batch.tensors.back().count;
  batch.tensors.push_back(
      {place.data(), value ? paired.data() : nullptr, {}, place.numel(), first, 0});
}

// Runs the rule for all targets; tell(batch, args) says where its numbers are.
template <class Tell>
void run_rule(kernel::UpdateArgs args, std::span<const Tensor> targets,
              std::span<const Tensor> values, const Tell& tell) {
  std::vector<Batch> batches;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Tensor& target = targets[i];
    auto batch = std::find_if(batches.begin(), batches.end(), [&](const Batch& b) {
      return b.dtype == target.dtype() && b.device == target.device();
    });
    if (batch == batches.end()) {
      batches.push_back({target.dtype(), target.device(), {}, {}, {}});
      batch = batches.end() - 1;
    }
    add(*batch, target, values.empty() ? nullptr : &values[i]);
  }
  for (Batch& batch : batches) {
    args.dtype = batch.dtype;
    args.tensors = batch.tensors;
    args.live = nullptr;
    tell(batch, args);
    kernel::run_update(batch.device, args);
    for (const auto& [target, copy] : batch.copied) target.copy_(copy);
  }
  for (const Tensor& target : targets) kernel::bump_written(target);
}

}  // namespace

void update_all(UpdateRule rule, const UpdateNumbers<double>& numbers,
                std::span<const Tensor> targets, std::span<const Tensor> values) {
  kernel::Recording* const recording = kernel::Recording::current();
  run_rule({rule, DType::f32, {}, {&numbers, 1}}, targets, values,
           [&](const Batch& batch, kernel::UpdateArgs& args) {
             if (!recording || batch.device != recording->device()) return;
             args.live = static_cast<const UpdateNumbers<double>*>(  // as C++ had them
                 recording->numbers(&numbers, sizeof numbers, [](void*) {}));
           });
}

void scale_all(const Tensor& factor, std::span<const Tensor> targets) {
  UpdateNumbers<double> numbers;
  run_rule({UpdateRule::scale, DType::f32, {}, {&numbers, 1}}, targets, {},
           [&](Batch& batch, kernel::UpdateArgs& args) {
             if (batch.device.is_cpu()) {
               numbers.shrink = factor.item<double>();
               return;
             }
             // Each of its numbers is the factor: the rule reads one.
             constexpr int64_t count = sizeof numbers / sizeof(double);
             const Tensor there = factor.to({.dtype = DType::f64, .device = batch.device});
             batch.kept.push_back(there.expand({count}).contiguous());
             args.live =
                 reinterpret_cast<const UpdateNumbers<double>*>(batch.kept.back().data<double>());
           });
}

}  // namespace aorta::optim
