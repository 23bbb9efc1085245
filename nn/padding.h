#pragma once

#include <aorta/core/ops/rearrange.h>
#include <aorta/nn/module.h>

namespace aorta::nn {

/// What the padding layers do beyond the edge.
enum class PaddingKind : uint8_t { constant, zero, reflection, replication, circular };

/// Adds elements at both ends of the last 1, 2 or 3 dimensions; see pad for what each kind puts
/// there. The padding is (left, right), then (top, bottom), then (front, back); negative numbers
/// crop. Input (N, C, *) or (C, *), or any with as many dimensions.
class Padding : public Module {
 public:
  Tensor forward(const Tensor& input) const override;
  std::string type_name() const override;
  std::string extra_repr() const override;

  PaddingKind kind;
  int spatial;  // dimensions
  Dims padding;
  double value;  // of the constant

 protected:
  Padding(PaddingKind kind, int spatial, const Dims& padding, double value);
};

/// A Padding of N dimensions, by one number for all ends or two for each dimension.
template <int N, PaddingKind K>
class PaddingOf : public Padding {
 public:
  explicit PaddingOf(int64_t padding) : PaddingOf(Dims::filled(2 * N, padding)) {}
  explicit PaddingOf(const Dims& padding) : Padding(K, N, padding, 0) {}
  PaddingOf(Module& owner, const char* name, int64_t padding) : PaddingOf(padding) {
    join(owner, name);
  }
  PaddingOf(Module& owner, const char* name, const Dims& padding) : PaddingOf(padding) {
    join(owner, name);
  }
};
/// A Padding by a value.
template <int N>
class ConstantPaddingOf : public Padding {
 public:
  ConstantPaddingOf(int64_t padding, double value)
      : ConstantPaddingOf(Dims::filled(2 * N, padding), value) {}
  ConstantPaddingOf(const Dims& padding, double value)
      : Padding(PaddingKind::constant, N, padding, value) {}
  ConstantPaddingOf(Module& owner, const char* name, int64_t padding, double value)
      : ConstantPaddingOf(padding, value) {
    join(owner, name);
  }
  ConstantPaddingOf(Module& owner, const char* name, const Dims& padding, double value)
      : ConstantPaddingOf(padding, value) {
    join(owner, name);
  }
};
/// A number beyond the edge.
using ConstantPad1d = ConstantPaddingOf<1>;
using ConstantPad2d = ConstantPaddingOf<2>;
using ConstantPad3d = ConstantPaddingOf<3>;
/// Zeros beyond the edge.
using ZeroPad1d = PaddingOf<1, PaddingKind::zero>;
using ZeroPad2d = PaddingOf<2, PaddingKind::zero>;
using ZeroPad3d = PaddingOf<3, PaddingKind::zero>;
/// The inside mirrored at the edge, which stands once.
using ReflectionPad1d = PaddingOf<1, PaddingKind::reflection>;
using ReflectionPad2d = PaddingOf<2, PaddingKind::reflection>;
using ReflectionPad3d = PaddingOf<3, PaddingKind::reflection>;
/// The edge again and again.
using ReplicationPad1d = PaddingOf<1, PaddingKind::replication>;
using ReplicationPad2d = PaddingOf<2, PaddingKind::replication>;
using ReplicationPad3d = PaddingOf<3, PaddingKind::replication>;
/// The other end.
using CircularPad1d = PaddingOf<1, PaddingKind::circular>;
using CircularPad2d = PaddingOf<2, PaddingKind::circular>;
using CircularPad3d = PaddingOf<3, PaddingKind::circular>;

}  // namespace aorta::nn
