#include <aorta/core/clock.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/data/epoch.h>

#include <cstdio>
#include <utility>

namespace aorta::data {
std::shared_ptr<Epoch> Epoch::start(std::shared_ptr<LoaderSettings> settings, int64_t epoch,
                                    int64_t skip) {
  std::shared_ptr<Epoch> made;
  if (settings->options.num_workers > 0)
    made = start_worker_epoch(settings, epoch, skip);
  else
    made = start_local_epoch(settings, epoch, skip);
  if (settings->iterable)
    for (int64_t i = 0; i < skip; ++i) made->skip_batch();
  made->given_ = skip;
  return made;
}

Epoch::Epoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch)
    : settings_(std::move(settings)), epoch_(epoch), started_(seconds_now()) {
  account_.workers = settings_->options.num_workers;
  const auto& device = settings_->options.device;
  if (device) stager_.emplace(*device);
}

bool Epoch::done() {
  const auto all = count();
  if (!current_ && all) return ended_ = given_ >= *all;
  look();
  return ended_ = !current_->batch && !current_->error;
}

const Batch& Epoch::batch() {
  check(!done(), "data_loader", "an iterator at the end has no batch", "a read of one");
  look();
  if (current_->error) std::rethrow_exception(current_->error);
  return *current_->batch;
}

void Epoch::advance() {
  check(!done(), "data_loader", "an iterator at the end can't be moved on", "an increment");
  if (current_) {
    // What couldn't be read isn't given until the program goes past it: a state asks for it again.
    if (current_->error) ++given_;
    current_.reset();
    return;
  }
  if (ahead_)
    ahead_.reset();
  else
    skip_batch();
  ++given_;
}

Epoch::Loaded Epoch::load_and_stage() {
  Loaded loaded;
  const double start = seconds_now();
  if (stager_) stager_->let_go_of_finished();  // load() copies what too many batches keep from it
  try {
    loaded.batch = load();
    if (!loaded.batch) return loaded;
    const double loaded_at = seconds_now();
    const auto& transform = settings_->options.batch_transform;
    if (stager_)
      loaded.batch = stager_->stage(*loaded.batch, transform, loaded.ticket);
    else if (transform)
      loaded.batch = transform(*loaded.batch);
    account_.copy += seconds_now() - loaded_at;
  } catch (const TimeoutError&) {  // it is still to come
    account_.wait += seconds_now() - start;
    left_ = seconds_now();
    throw;
  } catch (...) {
    loaded.batch.reset();
    loaded.error = std::current_exception();
  }
  return loaded;
}

void Epoch::look() {
  if (current_) return;
  const double start = seconds_now();
  if (left_ > 0) account_.compute += start - left_;
  const double copied = account_.copy;
  if (ahead_)
    current_ = std::exchange(ahead_, std::nullopt);
  else
    current_ = load_and_stage();
  account_.wait += seconds_now() - start - (account_.copy - copied);
  if (current_->batch) {
    ++given_;
    if (stager_) stager_->deliver(*current_->batch, current_->ticket);
    ++account_.batches;
    const auto& tensors = current_->batch->tensors();
    const bool many = !settings_->unbatched && !tensors.empty() && tensors[0].second.dim() > 0;
    account_.samples += many ? tensors[0].second.size(0) : 1;
    say_when_there_are_too_many();
  }
  if (!prefetches_) stage_ahead();
  left_ = seconds_now();
}

// The copy of the next batch runs beside the program's work on this one.
void Epoch::stage_ahead() {
  const auto all = count();
  if (stager_ && !ahead_ && current_ && current_->batch && (!all || given_ < *all) && ready())
    ahead_ = load_and_stage();
}

void Epoch::prefetch() {
  prefetches_ = true;
  const double start = seconds_now();
  stage_ahead();
  left_ += seconds_now() - start;  // it is no time of the program's
}

void Epoch::say_when_there_are_too_many() {
  if (!settings_->iterable || said_size_) return;
  const auto size = settings_->iterable->size();
  if (!size || account_.samples <= *size) return;
  said_size_ = true;
  std::fprintf(
      stderr,
      "aorta: data_loader: the dataset says that it has %lld samples, and gives more; with "
      "workers each stream must be a part of it\n",
      static_cast<long long>(*size));
}

StallAccount Epoch::account() const {
  StallAccount account = account_;
  account.total = (left_ > 0 ? left_ : seconds_now()) - started_;
  add_reading(account);
  return account;
}

Batch Epoch::batch_in_place(const std::vector<Tensor>& whole,
                            const std::vector<Shape>& shapes) const {
  Batch batch;
  const std::vector<TensorSpec>& specs = *settings_->specs;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (shapes[i] == specs[i].shape) {
      batch.add(specs[i].name, settings_->unbatched ? whole[i][0] : whole[i]);
      continue;
    }
    // Smaller than declared: samples keep the distance of the largest.
    Shape all = shapes[i];
    all.insert(0, whole[i].size(0));
    Strides strides = contiguous_strides(shapes[i]);
    strides.insert(0, whole[i].stride(0));
    const Tensor tensor(whole[i].storage(), whole[i].dtype(), all, strides,
                        whole[i].storage_offset());
    batch.add(specs[i].name, settings_->unbatched ? tensor[0] : tensor);
  }
  return batch;
}

Batch Epoch::collate(std::span<const Sample> samples) {
  const double start = seconds_now();
  const Collate& collate = settings_->options.collate;
  Batch batch = collate ? collate(samples) : default_collate(samples);
  account_.copy += seconds_now() - start;
  return batch;
}

}  // namespace aorta::data
