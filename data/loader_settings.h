#pragma once

#include <aorta/data/loader.h>
#include <aorta/data/workers/worker_pool.h>

#include <algorithm>
#include <memory>

namespace aorta::data {

/// What a loader was made with.
struct LoaderSettings {
  std::shared_ptr<const Source> source;
  const Dataset* dataset = nullptr;  // the source, if it is one
  const IterableDataset* iterable = nullptr;
  DataLoaderOptions options;
  TensorSpecs specs;
  uint64_t seed = 0;
  bool unbatched = false;            // a sample by itself; batch_size is 1 then
  bool pinned = false;               // pin_memory, and there is a GPU: batches are
  std::shared_ptr<WorkerPool> idle;  // of an epoch that is over

  /// Whether the workers' ring is page-locked, too: the loader itself copies from it to a GPU, and
  /// keeps each batch there until its copy is done.
  bool pins_ring() const { return pinned && options.device && options.device->is_cuda(); }
  std::shared_ptr<const BatchSampler> batch_sampler() const;
  /// Streams that an iterable dataset is read as: one a worker, or the program's own.
  int64_t streams() const { return std::max(1, options.num_workers); }
  /// Host memory for a batch, page-locked where it is wanted.
  Tensor empty(const Shape& shape, DType dtype) const;
};

}  // namespace aorta::data
