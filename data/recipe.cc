#include <aorta/data/recipe.h>

namespace aorta::data {

void Recipe::write(ArgumentWriter& writer) const {
  Portable<Make>::write(writer, make_);
  write_(writer);
}

std::shared_ptr<const Source> Recipe::follow(ArgumentReader& reader) {
  const auto make = Portable<Make>::read(reader);
  return make(reader);
}

}  // namespace aorta::data
