#pragma once

#include <memory>
#include <utility>

namespace aorta::data {

class Recipe;

/// What a loader reads from: a Dataset or an IterableDataset. make_dataset() gives it a recipe, by
/// which another process makes the same one.
class Source {
 public:
  Source() = default;
  Source(const Source&) {}  // a copy may be changed, so it has no recipe
  Source& operator=(const Source&) { return *this; }
  virtual ~Source() = default;

  const Recipe* recipe() const { return recipe_.get(); }
  void set_recipe(std::shared_ptr<const Recipe> recipe) { recipe_ = std::move(recipe); }

 private:
  std::shared_ptr<const Recipe> recipe_;
};

}  // namespace aorta::data
