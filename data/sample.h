#pragma once

#include <aorta/core/tensor.h>

#include <memory>
#include <span>
#include <string_view>

namespace aorta::data {

/// One tensor of a dataset's samples, declared before any is read: room for the largest is made
/// from it, and a sample is written there in place.
struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  // of the largest sample, without the batch's dimension
};

/// What the tensors of a dataset's samples are, shared by all who read it.
using TensorSpecs = std::shared_ptr<const std::vector<TensorSpec>>;

/// Throws unless there are specs, names are there and differ, and no size is negative.
TensorSpecs checked_specs(std::vector<TensorSpec> specs);

/// Where a dataset writes one sample: for each declared tensor, memory of the declared dtype and
/// shape, row-major and not initialised, that is already the sample's place in its batch.
///
///     sample["label"].fill_(7);
///     float* pixels = sample["image"].data<float>();  // numel() of them, all to be written
class Sample {
 public:
  /// `places`: one tensor a spec, of its dtype and shape, row-major. `file_place` is where the end
  /// of the file's name goes, too: memory that outlives a crash of this process.
  Sample(TensorSpecs specs, std::vector<Tensor> places, std::span<char> file_place = {});
  /// New memory.
  explicit Sample(TensorSpecs specs);

  /// The tensor of that name; throws `sample: name must be one of "image", "label", got "images"`.
  const Tensor& operator[](std::string_view name) const { return tensors_[find(name)]; }
  /// For a sample that is smaller than the largest: from now on the tensor has this shape, as many
  /// dimensions as declared and none larger. Its elements start where the place does; what was
  /// written before is lost. Throws `sample: ...` where the shape doesn't fit.
  const Tensor& resize(std::string_view name, const Shape& shape);

  /// Says which file is being read, for messages about an error or a crash.
  void set_file(std::string_view path);
  const std::string& file() const { return file_; }
  /// For a dataset made of others: what is said here of files is said of `outer`, too, which must
  /// outlive this.
  void forward_file_to(Sample& outer) { outer_ = &outer; }

  /// In the order of their declaration.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<TensorSpec>& specs() const { return *specs_; }

 private:
  size_t find(std::string_view name) const;

  TensorSpecs specs_;
  std::vector<Tensor> places_;
  std::vector<Tensor> tensors_;
  Sample* outer_ = nullptr;
  std::string file_;
  std::span<char> file_place_;
};

}  // namespace aorta::data
