#include <aorta/core/empty.h>
#include <aorta/data/loader_settings.h>

namespace aorta::data {

Tensor LoaderSettings::empty(const Shape& shape, DType dtype) const {
  if (!pinned) return aorta::empty(shape, {.dtype = dtype});
  const int64_t bytes = checked_numel("data_loader", shape, item_size(dtype)) *
                        static_cast<int64_t>(item_size(dtype));
  return Tensor(Storage::allocate_pinned(bytes), dtype, shape, contiguous_strides(shape));
}

std::shared_ptr<const BatchSampler> LoaderSettings::batch_sampler() const {
  if (options.batch_sampler) return options.batch_sampler;
  std::shared_ptr<const Sampler> sampler = options.sampler;
  // Made anew each epoch: the dataset may have grown.
  if (!sampler && options.shuffle)
    sampler = std::make_shared<RandomSampler>(dataset->size());
  else if (!sampler)
    sampler = std::make_shared<SequentialSampler>(dataset->size());
  return std::make_shared<BatchSampler>(sampler, options.batch_size, options.drop_last);
}

}  // namespace aorta::data
