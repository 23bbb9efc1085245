#include <aorta/data/workers/parcel.h>

namespace aorta::data {
namespace {
// The first byte of a message: the rest is the text, or its size.
constexpr char kHere = 'h', kInMemory = 'm';
}  // namespace

bool send_parcel(Channel& channel, const ArgumentWriter& writer) {
  const std::string& text = writer.text();
  const std::vector<int>& descriptors = writer.descriptors();
  check(descriptors.size() < Channel::kMaxDescriptors, "process",
        "a message must have at most 249 shared tensors", descriptors.size());
  if (text.size() < Channel::kMaxBytes) return channel.send(kHere + text, descriptors);
  const auto memory = SharedMemory::create("process", static_cast<int64_t>(text.size()));
  std::memcpy(memory->data(), text.data(), text.size());
  std::vector<int> all = descriptors;
  all.push_back(memory->descriptor());
  std::string message(1, kInMemory);
  io::append(message, text.size());
  return channel.send(message, all);
}

Parcel::Parcel(Channel::Message message) : message_(std::move(message)) {
  std::vector<Descriptor>& descriptors = message_.descriptors;
  text_ = std::string_view(message_.bytes).substr(1);
  if (message_.bytes.at(0) == kInMemory) {
    check(!descriptors.empty() && text_.size() == sizeof(size_t), "process",
          "a message must be whole", text_.size(), " bytes");
    const auto size = io::load<size_t>(std::as_bytes(std::span(text_)), 0);
    memory_ = SharedMemory::open(std::move(descriptors.back()));
    descriptors.pop_back();
    check(static_cast<int64_t>(size) <= memory_->size_bytes(), "process", "a message must be whole",
          size, " bytes");
    text_ = {memory_->data(), size};
  }
  descriptors_ = descriptors;
}

}  // namespace aorta::data
