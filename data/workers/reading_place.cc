#include <aorta/core/integers.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/resource_error.h>
#include <aorta/data/workers/reading_place.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace aorta::data {
namespace {

constexpr int64_t kTensorAlignment = 64;    // of a tensor
constexpr unsigned char kUntouched = 0xa5;  // what the edges hold

void unmap_place(void* context) {
  const auto* mapped = static_cast<std::span<char>*>(context);
  munmap(mapped->data(), mapped->size());
  delete mapped;
}

int64_t declared_bytes(const TensorSpec& spec) {
  return spec.shape.numel() * static_cast<int64_t>(item_size(spec.dtype));
}

// Memory of which nothing can be touched yet.
Ref<Storage> untouchable(int64_t bytes) {
  void* data =
      mmap(nullptr, static_cast<size_t>(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    fail_for_resources("data_loader",
                       "a reader must have memory for a sample (ulimit -v limits it)", bytes,
                       " bytes: ", errno_text(errno));
  const std::span<char> mapped(static_cast<char*>(data), static_cast<size_t>(bytes));
  return Storage::borrow(mapped.data(), bytes, Device(), unmap_place, new std::span<char>(mapped));
}

int64_t changed_bytes(std::span<const unsigned char> edge) {
  return std::count_if(edge.begin(), edge.end(),
                       [](unsigned char byte) { return byte != kUntouched; });
}

}  // namespace

ReadingPlace::ReadingPlace(const TensorSpecs& specs) : specs_(specs) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  int64_t mapped = page;
  for (const TensorSpec& spec : *specs)
    mapped += round_up(std::max<int64_t>(declared_bytes(spec), 1), page) + page;
  const Ref<Storage> storage = untouchable(mapped);
  int64_t first = page;  // of the pages that hold the tensor
  for (const TensorSpec& spec : *specs) {
    const int64_t bytes = declared_bytes(spec), pages = round_up(std::max<int64_t>(bytes, 1), page);
    if (mprotect(storage->data() + first, static_cast<size_t>(pages), PROT_READ | PROT_WRITE) != 0)
      fail_for_resources("data_loader",
                         "a reader's memory must be protectable (vm.max_map_count limits it)",
                         pages, " bytes: ", errno_text(errno));
    const int64_t start = first + pages - round_up(bytes, kTensorAlignment);
    tensors_.emplace_back(storage, spec.dtype, spec.shape, contiguous_strides(spec.shape),
                          start / static_cast<int64_t>(item_size(spec.dtype)));
    auto* const data = reinterpret_cast<unsigned char*>(storage->data());
    edges_.push_back({{data + first, data + start}, {data + start + bytes, data + first + pages}});
    first += pages + page;
  }
}

void ReadingPlace::prepare() {
  for (const auto& [before, behind] : edges_) {
    std::fill(before.begin(), before.end(), kUntouched);
    std::fill(behind.begin(), behind.end(), kUntouched);
  }
}

void ReadingPlace::check_edges() const {
  for (size_t i = 0; i < edges_.size(); ++i) {
    const auto expect_none = [&](std::span<const unsigned char> edge, const char* side) {
      const int64_t bytes = changed_bytes(edge);
      check(bytes == 0, "dataset", "read() must write within its tensors", bytes, " bytes written ",
            side, " ", io::quote((*specs_)[i].name));
    };
    expect_none(edges_[i].before, "before");
    expect_none(edges_[i].behind, "behind");
  }
}

void copy_to(const std::vector<Tensor>& places, const Sample& sample) {
  for (size_t i = 0; i < places.size(); ++i) {
    const Tensor& read = sample.tensors()[i];
    if (read.numel() > 0)
      std::memcpy(places[i].data(), read.data(), static_cast<size_t>(read.nbytes()));
  }
}

}  // namespace aorta::data
