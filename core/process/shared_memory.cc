#include <aorta/core/integers.h>
#include <aorta/core/process/limits.h>
#include <aorta/core/process/shared_memory.h>
#include <aorta/core/resource_error.h>
#include <aorta/core/tensor.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace aorta {
namespace {

// What is smaller isn't worth a look at the machine's limits.
constexpr int64_t kSmall = 1 << 20;

void release_memory(void* context) { delete static_cast<std::shared_ptr<SharedMemory>*>(context); }

}  // namespace

std::shared_ptr<SharedMemory> SharedMemory::create(const char* op, int64_t size_bytes) {
  check(size_bytes > 0, op, "shared memory must have a size", size_bytes);
  const int64_t available = size_bytes < kSmall ? size_bytes : available_memory_bytes();
  check_resources(size_bytes <= available, op,
                  "shared memory must fit into what the machine has free", size_bytes >> 20,
                  " MiB wanted, ", available >> 20, " MiB free");
  constexpr int64_t unit = alignof(std::max_align_t);
  const int64_t file_bytes = round_up(size_bytes, unit) + int64_t{sizeof(Record)};
  Descriptor file(memfd_create("aorta", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto expect = [&](bool ok, const char* call) {
    if (!ok)
      fail_for_resources(op, "shared memory must be there (ulimit -n and -f limit it)", file_bytes,
                         " bytes wanted, ", call, ": ", errno_text(errno));
  };
  expect(bool(file), "memfd_create");
  expect(ftruncate(file.get(), file_bytes) == 0, "ftruncate");
  // Without this a page that can't be had is a bus error, later and somewhere else.
  errno = posix_fallocate(file.get(), 0, file_bytes);
  expect(errno == 0, "fallocate");
  expect(fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0, "fcntl");
  return std::shared_ptr<SharedMemory>(
      new SharedMemory(op, std::move(file), file_bytes, size_bytes));
}

std::shared_ptr<SharedMemory> SharedMemory::open(Descriptor descriptor, bool given) {
  struct stat status;
  const int seals = fcntl(descriptor.get(), F_GET_SEALS);
  check(seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(descriptor.get(), &status) == 0 &&
            status.st_size > static_cast<off_t>(sizeof(Record)),
        "shared_memory", "a descriptor must be that of sealed memory", descriptor.get());
  std::shared_ptr<SharedMemory> memory(
      new SharedMemory("shared_memory", std::move(descriptor), status.st_size, 0));
  check(memory->size_bytes_ > 0 &&
            memory->size_bytes_ <= status.st_size - static_cast<off_t>(sizeof(Record)),
        "shared_memory", "memory's record must be whole", memory->size_bytes_, " bytes in ",
        status.st_size);
  if (given) memory->given_to_ = getpid();
  return memory;
}

SharedMemory::SharedMemory(const char* op, Descriptor descriptor, int64_t file_bytes,
                           int64_t size_bytes)
    : descriptor_(std::move(descriptor)), file_bytes_(file_bytes) {
  // Pages are mapped as they are touched: populating the whole takes as long as making it.
  void* data = mmap(nullptr, static_cast<size_t>(file_bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
                    descriptor_.get(), 0);
  check_resources(data != MAP_FAILED, op, "shared memory must be mappable", file_bytes,
                  " bytes: ", errno_text(errno));
  data_ = static_cast<char*>(data);
  record_ = reinterpret_cast<Record*>(data_ + file_bytes - int64_t{sizeof(Record)});
  if (size_bytes > 0) new (record_) Record{size_bytes, 0};
  size_bytes_ = record_->size_bytes;
}

std::shared_ptr<SharedMemory> SharedMemory::of(const Storage& storage) {
  void* context = storage.context_of(release_memory);
  return context ? *static_cast<std::shared_ptr<SharedMemory>*>(context) : nullptr;
}

SharedMemory::~SharedMemory() {
  if (given_to_ != 0 && given_to_ == getpid()) take_back();
  munmap(data_, static_cast<size_t>(file_bytes_));
}

Ref<Storage> storage_on(std::shared_ptr<SharedMemory> memory) {
  char* data = memory->data();
  const int64_t size = memory->size_bytes();
  return Storage::borrow(data, size, Device(), release_memory,
                         new std::shared_ptr<SharedMemory>(std::move(memory)));
}

bool Tensor::is_shared() const { return SharedMemory::of(*impl().storage) != nullptr; }

Tensor Tensor::share_memory() const {
  check_defined("share_memory", {{"input", *this}});
  check(device().is_cpu(), "share_memory", "only a CPU tensor's memory can be shared", device());
  if (is_shared()) return *this;
  auto memory = SharedMemory::create("share_memory", std::max<int64_t>(nbytes(), 1));
  Tensor result(storage_on(std::move(memory)), dtype(), shape(), contiguous_strides(shape()));
  result.copy_(detach());
  return result;
}

}  // namespace aorta
