#pragma once

#include <aorta/core/tensor.h>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace aorta::distributions {

/// What a distribution is made from: a tensor, or a number, which becomes of the dtype and device
/// of the parameters beside it (f32 on the CPU where all are numbers). Floating dtypes.
class Parameter {
 public:
  /// Left out.
  Parameter() = default;
  // Templates, which names in braces don't fit: g++ 12 would take `{.mean = x}` for x.
  template <std::same_as<Tensor> T>
  Parameter(const T& tensor) : kind_(Kind::tensor), tensor_(tensor) {}  // NOLINT: implicit
  template <class T>
  requires std::is_arithmetic_v<T> Parameter(T number)  // NOLINT: implicit
      : kind_(Kind::number), number_(static_cast<double>(number)) {}

  bool given() const { return kind_ != Kind::none; }
  bool is_number() const { return kind_ == Kind::number; }
  const Tensor& tensor() const { return tensor_; }
  double number() const { return number_; }

 private:
  enum class Kind : uint8_t { none, number, tensor };
  Kind kind_ = Kind::none;
  Tensor tensor_;
  double number_ = 0;
};

/// Probabilities, or unnormalised logarithms of them (of odds, for a coin): one of the two. See
/// Bernoulli, Categorical.
struct ProbsOrLogits {
  Parameter probs = {};
  Parameter logits = {};
};

/// probs and logits, of which one was given and the other is computed when it is asked for: of
/// coins (probability p, logit log(p / (1 - p))), or of classes along the last dimension (p,
/// log(p)).
class Odds {
 public:
  /// The parameters of `op`. Errors: both or none are given; probabilities outside of their range.
  /// Classes are normalised.
  static Odds of_coins(const char* op, const ProbsOrLogits& options);
  static Odds of_classes(const char* op, const ProbsOrLogits& options);

  Tensor probs() const;
  /// Logits; of probabilities within machine epsilon of 0 and 1 those of the nearest that is not.
  Tensor logits() const;
  /// The one that was given.
  const Tensor& given() const { return given_; }
  bool has_logits() const { return has_logits_; }
  void expand_to(const Shape& shape) { given_ = given_.expand(shape); }

 private:
  Odds(Tensor given, bool has_logits, bool coins)
      : given_(std::move(given)), has_logits_(has_logits), coins_(coins) {}

  Tensor given_;
  bool has_logits_;
  bool coins_;
};

}  // namespace aorta::distributions
