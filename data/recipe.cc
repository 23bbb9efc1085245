#include <aorta/core/ops/creation.h>
#include <aorta/data/recipe.h>

namespace aorta::data {

void ArgumentReader::bytes(void* data, size_t size) {
  check(size <= text_.size(), "make_dataset", "arguments must be whole", text_.size(), " of ", size,
        " bytes");
  std::memcpy(data, text_.data(), size);
  text_.remove_prefix(size);
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

void Portable<Tensor>::write(ArgumentWriter& writer, const Tensor& value) {
  const Tensor whole = value.detach().to(Device()).contiguous();
  Portable<DType>::write(writer, whole.dtype());
  Portable<std::vector<int64_t>>::write(writer, {whole.shape().begin(), whole.shape().end()});
  writer.bytes(whole.data(), static_cast<size_t>(whole.nbytes()));
}

Tensor Portable<Tensor>::read(ArgumentReader& reader) {
  const auto dtype = Portable<DType>::read(reader);
  const auto sizes = Portable<std::vector<int64_t>>::read(reader);
  const Tensor value = empty(sizes, {.dtype = dtype});
  reader.bytes(value.data(), static_cast<size_t>(value.nbytes()));
  return value;
}

void Recipe::write(ArgumentWriter& writer) const {
  Portable<Make>::write(writer, make_);
  write_(writer);
}

std::shared_ptr<const Source> Recipe::follow(ArgumentReader& reader) {
  const auto make = Portable<Make>::read(reader);
  return make(reader);
}

}  // namespace aorta::data
