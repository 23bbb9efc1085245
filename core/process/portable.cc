#include <aorta/core/empty.h>
#include <aorta/core/process/function_place.h>
#include <aorta/core/process/portable.h>
#include <aorta/core/process/shared_memory.h>

#include <cstring>

namespace aorta {

void ArgumentReader::bytes(void* data, size_t size) {
  check(size <= text_.size(), "portable", "values must be whole", text_.size(), " of ", size,
        " bytes");
  std::memcpy(data, text_.data(), size);
  text_.remove_prefix(size);
}

void ArgumentWriter::function(const void* address) {
  Portable<bool>::write(*this, address != nullptr);
  if (address) text_ += FunctionPlace::of(address).text();
}

void* ArgumentReader::function() {
  if (!Portable<bool>::read(*this)) return nullptr;
  const FunctionPlace place = FunctionPlace::parse(text_);
  void* const address = place.address();
  check(address, "portable",
        "a function must stand in the program or a library that it was started with", place.path);
  return address;
}

void Portable<std::string>::write(ArgumentWriter& writer, const std::string& value) {
  Portable<size_t>::write(writer, value.size());
  writer.bytes(value.data(), value.size());
}

std::string Portable<std::string>::read(ArgumentReader& reader) {
  std::string value(Portable<size_t>::read(reader), '\0');
  reader.bytes(value.data(), value.size());
  return value;
}

Descriptor ArgumentReader::descriptor() {
  check(!descriptors_.empty(), "portable", "values must be whole", "a descriptor too few");
  Descriptor first = std::move(descriptors_[0]);
  descriptors_ = descriptors_.subspan(1);
  return first;
}

void Portable<Tensor>::write(ArgumentWriter& writer, const Tensor& value) {
  if (writer.takes(value)) return;
  using Sizes = std::vector<int64_t>;
  const auto memory = value.device().is_cpu() ? SharedMemory::of(*value.storage()) : nullptr;
  const Tensor tensor = memory ? value : value.detach().to(Device()).contiguous();
  Portable<bool>::write(writer, memory != nullptr);
  Portable<DType>::write(writer, tensor.dtype());
  Portable<Sizes>::write(writer, {tensor.shape().begin(), tensor.shape().end()});
  if (!memory) return writer.bytes(tensor.data(), static_cast<size_t>(tensor.nbytes()));
  Portable<Sizes>::write(writer, {tensor.strides().begin(), tensor.strides().end()});
  Portable<int64_t>::write(writer, tensor.storage_offset());
  writer.descriptor(memory->descriptor());
  memory->give();  // if nobody opens it, it is never back, and not used again
}

Tensor Portable<Tensor>::read(ArgumentReader& reader) {
  if (std::optional<Tensor> taken = reader.taken()) return *taken;
  using Sizes = std::vector<int64_t>;
  const bool shared = Portable<bool>::read(reader);
  const auto dtype = Portable<DType>::read(reader);
  const Shape shape = Portable<Sizes>::read(reader);
  if (shared) {
    const Strides strides = Portable<Sizes>::read(reader);
    const auto offset = Portable<int64_t>::read(reader);
    return Tensor(storage_on(SharedMemory::open(reader.descriptor(), true)), dtype, shape, strides,
                  offset);
  }
  const Tensor value = empty(shape, {.dtype = dtype});
  reader.bytes(value.data(), static_cast<size_t>(value.nbytes()));
  return value;
}

}  // namespace aorta
