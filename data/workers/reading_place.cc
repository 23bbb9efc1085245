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

constexpr int64_t kTensorAlignment = 64;    // of a tensor that is copied
constexpr int64_t kWatched = 256;           // bytes on each side of a tensor
constexpr size_t kMaxViews = 4096;          // in a process, of 4 mappings each; it may have 65,530
constexpr unsigned char kUntouched = 0xa5;  // what is watched

int64_t page_size() {
  static const int64_t size = sysconf(_SC_PAGESIZE);
  return size;
}

int64_t declared_bytes(const TensorSpec& spec) {
  return spec.shape.numel() * static_cast<int64_t>(item_size(spec.dtype));
}

void unmap(void* context) {
  const auto* mapped = static_cast<std::span<char>*>(context);
  munmap(mapped->data(), mapped->size());
  delete mapped;
}

// Null where there is no room.
Ref<Storage> map_pages(int64_t bytes, int protection, int flags) {
  void* data = mmap(nullptr, static_cast<size_t>(bytes), protection, flags | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return {};
  const std::span<char> mapped(static_cast<char*>(data), static_cast<size_t>(bytes));
  return Storage::borrow(mapped.data(), bytes, Device(), unmap, new std::span<char>(mapped));
}

Ref<Storage> needed_pages(int64_t bytes, int protection, int flags) {
  Ref<Storage> storage = map_pages(bytes, protection, flags);
  if (!storage)
    fail_for_resources("data_loader",
                       "a reader must have memory for a sample (ulimit -v limits it)", bytes,
                       " bytes: ", errno_text(errno));
  return storage;
}

// Maps shared pages at a second address: an old size of 0 leaves them where they are, too.
bool map_again(char* pages, int64_t bytes, char* to) {
  return mremap(pages, 0, static_cast<size_t>(bytes), MREMAP_MAYMOVE | MREMAP_FIXED, to) !=
         MAP_FAILED;
}

bool untouched(std::span<const unsigned char> edge) {
  return edge.empty() ||
         (edge[0] == kUntouched && std::memcmp(edge.data(), edge.data() + 1, edge.size() - 1) == 0);
}

int64_t touched_bytes(std::span<const unsigned char> edge) {
  return std::count_if(edge.begin(), edge.end(),
                       [](unsigned char byte) { return byte != kUntouched; });
}

}  // namespace

ReadingPlace::Part ReadingPlace::part(size_t i, Ref<Storage> storage, int64_t pages,
                                      int64_t skipped, int64_t size) const {
  const TensorSpec& spec = (*specs_)[i];
  auto* const data = reinterpret_cast<unsigned char*>(storage->data());
  const int64_t start = pages + skipped, bytes = declared_bytes(spec);
  Part part;
  part.tensor = Tensor(std::move(storage), spec.dtype, spec.shape, contiguous_strides(spec.shape),
                       start / static_cast<int64_t>(item_size(spec.dtype)));
  part.before = {data + start - std::min(skipped, kWatched), data + start};
  part.behind = {data + start + bytes, data + std::min(start + bytes + kWatched, pages + size)};
  return part;
}

ReadingPlace::ReadingPlace(const TensorSpecs& specs, int in_process)
    : specs_(specs), most_views_(kMaxViews / static_cast<size_t>(in_process)) {
  const int64_t page = page_size();
  int64_t mapped = page;
  for (const TensorSpec& spec : *specs)
    mapped += round_up(std::max<int64_t>(declared_bytes(spec), 1), page) + page;
  own_ = needed_pages(mapped, PROT_NONE, MAP_PRIVATE);
  ends_ = needed_pages(2 * page * static_cast<int64_t>(specs->size()), PROT_READ | PROT_WRITE,
                       MAP_SHARED);
  int64_t first = page;  // of the pages that hold the tensor
  for (size_t i = 0; i < specs->size(); ++i) {
    const int64_t bytes = declared_bytes((*specs)[i]);
    const int64_t pages = round_up(std::max<int64_t>(bytes, 1), page);
    if (mprotect(own_->data() + first, static_cast<size_t>(pages), PROT_READ | PROT_WRITE) != 0)
      fail_for_resources("data_loader",
                         "a reader's memory must be protectable (vm.max_map_count limits it)",
                         pages, " bytes: ", errno_text(errno));
    whole_.push_back(part(i, own_, first, pages - round_up(bytes, kTensorAlignment), pages));
    whole_.back().head = bytes;
    first += pages + page;
  }
}

std::optional<ReadingPlace::Part> ReadingPlace::view(size_t i, const char* place) const {
  const int64_t page = page_size(), bytes = declared_bytes((*specs_)[i]);
  const auto address = reinterpret_cast<int64_t>(place);
  const int64_t head = round_up(address, page) - address, tail = (address + bytes) % page;
  const int64_t middle = bytes - head - tail;
  if (middle <= page || views_.size() >= most_views_) return {};
  const Ref<Storage> storage = map_pages(middle + 4 * page, PROT_NONE, MAP_PRIVATE);
  if (!storage) return {};
  char* const at = storage->data() + page;
  char* const ends = ends_->data() + 2 * page * static_cast<int64_t>(i);
  if (!map_again(ends, page, at) ||
      !map_again(const_cast<char*>(place) + head, middle, at + page) ||
      !map_again(ends + page, page, at + page + middle))
    return {};
  Part view = part(i, storage, page, page - head, middle + 2 * page);
  view.head = head, view.tail = tail;
  return view;
}

const std::vector<Tensor>& ReadingPlace::take(std::vector<Tensor> places) {
  places_ = std::move(places);
  taken_.clear(), tensors_.clear();
  for (size_t i = 0; i < places_.size(); ++i) {
    const auto* place = static_cast<const char*>(places_[i].data());
    auto found = views_.find(place);
    if (found == views_.end()) found = views_.emplace(place, view(i, place)).first;
    const Part& part = found->second ? *found->second : whole_[i];
    std::memset(part.before.data(), kUntouched, part.before.size());
    std::memset(part.behind.data(), kUntouched, part.behind.size());
    taken_.push_back(&part);
    tensors_.push_back(part.tensor);
  }
  return tensors_;
}

void ReadingPlace::check_edges() const {
  for (size_t i = 0; i < taken_.size(); ++i) {
    const auto expect_none = [&](std::span<const unsigned char> edge, const char* side) {
      if (untouched(edge)) return;
      fail("dataset", "read() must write within its tensors", touched_bytes(edge),
           " bytes written ", side, " ", io::quote((*specs_)[i].name));
    };
    expect_none(taken_[i]->before, "before");
    expect_none(taken_[i]->behind, "behind");
  }
}

void ReadingPlace::give(const Sample& sample) const {
  for (size_t i = 0; i < taken_.size(); ++i) {
    const auto* from = static_cast<const char*>(tensors_[i].data());
    auto* to = static_cast<char*>(places_[i].data());
    const int64_t written = sample.tensors()[i].nbytes();
    const int64_t head = std::min(taken_[i]->head, written), tail = taken_[i]->tail,
                  end = places_[i].nbytes() - tail;
    if (head > 0) std::memcpy(to, from, static_cast<size_t>(head));
    if (tail > 0 && written > end) std::memcpy(to + end, from + end, static_cast<size_t>(tail));
  }
}

}  // namespace aorta::data
