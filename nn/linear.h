#pragma once

#include <aorta/nn/call.h>

namespace aorta::nn {

/// The options of Linear, with PyTorch's names and defaults.
struct LinearOptions {
  bool bias = true;
};
/// input weight^T + bias: input (*, in), weight (out, in), bias (out) -> (*, out). Both start
/// uniform in +-1 / sqrt(in), a bias without inputs at 0.
class Linear : public Module {
 public:
  Linear(int64_t in_features, int64_t out_features, const LinearOptions& options = {});
  Linear(Module& owner, const char* name, int64_t in_features, int64_t out_features,
         const LinearOptions& options = {});
  Tensor forward(const Tensor& input) const override;
  void reset_parameters() override;
  std::string extra_repr() const override;
  int64_t multiply_adds(const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& outputs) const override;

  int64_t in_features, out_features;
  Parameter weight;
  Parameter bias;
};

/// See bilinear: (*, in1) and (*, in2) -> (*, out). Weight (out, in1, in2) and bias (out) start
/// uniform in +-1 / sqrt(in1).
class Bilinear : public ModuleOf<Bilinear> {
 public:
  Bilinear(int64_t in1_features, int64_t in2_features, int64_t out_features,
           const LinearOptions& options = {});
  Bilinear(Module& owner, const char* name, int64_t in1_features, int64_t in2_features,
           int64_t out_features, const LinearOptions& options = {});
  Tensor forward(const Tensor& input1, const Tensor& input2) const;
  void reset_parameters() override;
  std::string extra_repr() const override;
  int64_t multiply_adds(const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& outputs) const override;

  int64_t in1_features, in2_features, out_features;
  Parameter weight;
  Parameter bias;
};

/// The input itself.
class Identity : public Module {
 public:
  using Module::Module;
  Tensor forward(const Tensor& input) const override { return input; }
};

/// Dimensions start_dim to end_dim as one; a view where it can be.
class Flatten : public Module {
 public:
  explicit Flatten(int64_t start_dim = 1, int64_t end_dim = -1);
  Flatten(Module& owner, const char* name, int64_t start_dim = 1, int64_t end_dim = -1);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  int64_t start_dim, end_dim;
};

/// Dimension `dim` as several, of the given sizes (one may be -1).
class Unflatten : public Module {
 public:
  Unflatten(int64_t dim, const Shape& sizes);
  Unflatten(Module& owner, const char* name, int64_t dim, const Shape& sizes);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  int64_t dim;
  Shape sizes;
};

}  // namespace aorta::nn
