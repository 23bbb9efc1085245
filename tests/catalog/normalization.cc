#include <aorta/core/ops/normalization.h>

#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/join.h>
#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {
namespace {

// The last two tensors are running statistics: copies in the input's dtype come out, updated (but
// not where the gradient is looked at, for they have none).
struct Running {
  Tensor mean, var;
  explicit Running(const Tensors& x)
      : mean(copy(x[x.size() - 2], x[0])), var(copy(x[x.size() - 1], x[0])) {}
  static Tensor copy(const Tensor& statistics, const Tensor& input) {
    if (!statistics.defined() || !input.defined()) return {};
    return real(statistics).to(ToOptions{.dtype = input.dtype(), .copy = true});
  }
  Tensors with(const Tensor& y) const {
    if (y.requires_grad()) return {y};
    return {y, mean, var};
  }
};

Tensors many_maps() {
  return {numbers({12, 18, 37, 41}), numbers({18}), numbers({18}), numbers({18}), ones({18})};
}
Tensors large_instances() { return {numbers({6, 5, 37, 41}), numbers({5}), numbers({5})}; }
Tensors large_groups() { return {numbers({6, 4, 37, 41}), numbers({4}), numbers({4})}; }
Tensors many_lines() { return {numbers({700, 301}), numbers({301}), numbers({301})}; }

std::vector<BadCall> bad_batch_norm() {
  return {
      {[] { batch_norm(ones({4}), {}, {}, {}, {}, {.training = true}); },
       "batch_norm: input must be (N, C, *), got [4]"},
      {[] {
         batch_norm(ones({2, 3}, {.dtype = i64}), {}, {}, {}, {}, {.training = true});
       },
       "batch_norm: dtype must be floating, got i64"},
      {[] {
         batch_norm(ones({1, 3}), {}, {}, {}, {}, {.training = true});
       },
       "batch_norm: training needs more than one value a channel and group, got [1,3]"},
      {[] {
         batch_norm(ones({3, 3}), {}, {}, {}, {}, {.training = true, .statistic_groups = 3});
       },
       "batch_norm: training needs more than one value a channel and group, got [3,3]"},
      {[] {
         batch_norm(ones({4, 3, 2}), {}, {}, {}, {}, {.training = true, .statistic_groups = 3});
       },
       "batch_norm: statistic_groups must divide the batch, got 3 for [4,3,2]"},
      {[] {
         batch_norm(ones({4, 3, 2}), {}, {}, {}, {}, {.training = true, .statistic_groups = 0});
       },
       "batch_norm: statistic_groups must divide the batch, got 0 for [4,3,2]"},
      {[] {
         batch_norm(ones({4, 3}), {}, {});
       },
       "batch_norm: running_mean and running_var are what normalises: they must be given, got "
       "neither"},
      {[] {
         batch_norm(ones({4, 3}), ones({3}), {}, {}, {}, {.training = true});
       },
       "batch_norm: running_mean and running_var, or neither, got running_mean alone"},
      {[] {
         batch_norm(ones({4, 3}), ones({2}), ones({3}));
       },
       "batch_norm: running_mean must have the shape [3], got [2]"},
      {[] {
         batch_norm(ones({4, 3}), ones({3}), ones({3}), ones({3, 1}));
       },
       "batch_norm: weight must have the shape [3], got [3,1]"},
      {[] {
         batch_norm(ones({4, 3}), ones({3}), ones({3}), {}, ones({3}, {.dtype = f64}));
       },
       "batch_norm: bias must have the input's dtype, or f32 beside a half type, got f64 for f32"},
      {[] {
         batch_norm(ones({4, 3}), ones({3}), ones({3}, {.dtype = bf16}));
       },
       "batch_norm: running_var must have the input's dtype, or f32 beside a half type, got bf16 "
       "for f32"},
      {[] {
         batch_norm(ones({4, 3}), ones({3}, {.device = "cpu:1"}), ones({3}));
       },
       "batch_norm: tensors must be on one device, got cpu and cpu:1"},
      {[] {
         batch_norm(ones({4, 3}), zeros({3}), ones({3}), {}, {},
                    {.training = true, .num_batches_tracked = zeros({})});
       },
       "batch_norm: num_batches_tracked must be an i64 on the input's device, got f32 on cpu"},
      {[] {
         batch_norm(ones({4, 3}), {}, {}, {}, {}, {.training = true, .residual = ones({4, 3})});
       },
       "batch_norm: a residual needs relu, got false"},
      {[] {
         batch_norm(ones({4, 3}), {}, {}, {}, {},
                    {.training = true, .relu = true, .residual = ones({3})});
       },
       "batch_norm: residual must have the input's shape and dtype, got [3] f32 for [4,3] f32"},
  };
}

Row batch_norm_row() {
  return {
      .op = "batch_norm",
      .tolerance = kSums,
      .calls = {{"default",
                 [](const Tensors& x) {
                   const Running r(x);
                   return r.with(batch_norm(x[0], r.mean, r.var, x[1], x[2], {.training = true}));
                 }},
                {"eval",
                 [](const Tensors& x) {
                   const Running r(x);
                   return r.with(batch_norm(x[0], r.mean, r.var, x[1], x[2]));
                 }},
                {"momentum",
                 [](const Tensors& x) {
                   const Running r(x);
                   return r.with(batch_norm(x[0], r.mean, r.var, x[1], x[2],
                                            {.training = true, .momentum = 1, .eps = 0.5}));
                 }},
                {"plain",
                 [](const Tensors& x) {
                   const Running r(x);
                   return r.with(batch_norm(x[0], r.mean, r.var, {}, {}, {.training = true}));
                 }},
                {"plain_eval",
                 [](const Tensors& x) {
                   const Running r(x);
                   return r.with(batch_norm(x[0], r.mean, r.var));
                 }},
                {"weight",
                 [](const Tensors& x) {
                   const Running r(x);
                   return r.with(batch_norm(x[0], r.mean, r.var, x[1], {}, {.training = true}));
                 }},
                {"bias",
                 [](const Tensors& x) {
                   const Running r(x);
                   return r.with(batch_norm(x[0], r.mean, r.var, {}, x[1], {.training = true}));
                 }},
                {"groups",
                 [](const Tensors& x) {
                   const Running r(x);
                   return r.with(batch_norm(x[0], r.mean, r.var, x[1], x[2],
                                            {.training = true, .statistic_groups = 3}));
                 }}},
      .bad = bad_batch_norm(),
      .also = {"to"},
      .functions = {"batch_norm_masked_gradient", "batch_norm_recomputed", "channel_norm_backward"},
      .large = many_maps,
      // Values that are far from 0 beside their differences.
      .cancelling = {"default/shifted"}};
}

Row instance_norm_row() {
  return {
      .op = "instance_norm",
      .tolerance = kSums,
      .calls = {{"default",
                 [](const Tensors& x) -> Tensors {
                   return {instance_norm(x[0], {}, {}, x[1], x[2])};
                 }},
                {"running",
                 [](const Tensors& x) {
                   const Running r(x);
                   return r.with(instance_norm(x[0], r.mean, r.var, x[1], x[2], {.momentum = 0.3}));
                 }},
                {"given",
                 [](const Tensors& x) {
                   const Running r(x);
                   return r.with(
                       instance_norm(x[0], r.mean, r.var, x[1], x[2], {.use_input_stats = false}));
                 }}},
      .bad = {{[] {
                 instance_norm(ones({2, 3}));
               },
               "instance_norm: input must be (N, C, *), at least one *, got [2,3]"},
              {[] {
                 instance_norm(ones({2, 3, 1}));
               },
               "instance_norm: more than one position is needed, got [2,3,1]"},
              {[] {
                 instance_norm(ones({2, 3, 4}), {}, {}, {}, {}, {.use_input_stats = false});
               },
               "instance_norm: running_mean and running_var are what normalises: they must be "
               "given, got neither"},
              {[] {
                 instance_norm(ones({2, 3, 4}), {}, {}, ones({4}));
               },
               "instance_norm: weight must have the shape [3], got [4]"}},
      .also = {"lerp", "mean", "mul", "to"},
      .large = large_instances};
}

template <int groups>
Tensors grouped(const Tensors& x) {
  return {group_norm(x[0], groups, x[1], x[2], 1e-3)};
}

Row group_norm_row() {
  return {
      .op = "group_norm",
      .tolerance = kSums,
      .calls = {{"default", grouped<2>},
                {"all", grouped<1>},
                {"each", grouped<4>},
                {"plain", [](const Tensors& x) -> Tensors { return {group_norm(x[0], 2)}; }}},
      .bad = {{[] { group_norm(ones({4}), 2); }, "group_norm: input must be (N, C, *), got [4]"},
              {[] {
                 group_norm(ones({2, 4, 3}), 3);
               },
               "group_norm: num_groups must divide the channels, got 3 for [2,4,3]"},
              {[] {
                 group_norm(ones({2, 4, 3}), 0);
               },
               "group_norm: num_groups must divide the channels, got 0 for [2,4,3]"},
              {[] {
                 group_norm(ones({2, 4, 3}, {.dtype = u8}), 2);
               },
               "group_norm: dtype must be floating, got u8"},
              {[] {
                 group_norm(ones({2, 4, 3}), 2, ones({2}));
               },
               "group_norm: weight must have the shape [4], got [2]"}},
      .large = large_groups,
      .autocasts = Autocasts::f32};
}

// The last `count` dimensions.
Shape last_of(const Tensor& x, int count) {
  Shape shape;
  for (int d = -count; d < 0 && x.defined(); ++d) shape.push_back(x.size(d));
  return shape;
}

Row layer_norm_row() {
  return {
      .op = "layer_norm",
      .tolerance = kSums,
      .calls = {{"default",
                 [](const Tensors& x) -> Tensors {
                   return {layer_norm(x[0], last_of(x[0], 1), x[1], x[2])};
                 }},
                {"two",
                 [](const Tensors& x) -> Tensors {
                   return {layer_norm(x[0], last_of(x[0], 2), x[1], x[2])};
                 }},
                {"plain",
                 [](const Tensors& x) -> Tensors { return {layer_norm(x[0], {7}, {}, {}, 0.25)}; }},
                {"weight",
                 [](const Tensors& x) -> Tensors { return {layer_norm(x[0], {7}, x[1])}; }}},
      .bad = {{[] { layer_norm(ones({4}), {}); },
               "layer_norm: normalized_shape must have a dimension, got []"},
              {[] {
                 layer_norm(ones({4, 3}), {4});
               },
               "layer_norm: the input's shape must end with normalized_shape, got [4,3] and "
               "[4]"},
              {[] {
                 layer_norm(ones({3}), {2, 3});
               },
               "layer_norm: the input's shape must end with normalized_shape, got [3] and "
               "[2,3]"},
              {[] {
                 layer_norm(ones({4, 3}, {.dtype = i32}), {3});
               },
               "layer_norm: dtype must be floating, got i32"},
              {[] {
                 layer_norm(ones({4, 3}), {3}, ones({4}));
               },
               "layer_norm: weight must have the shape [3], got [4]"},
              {[] {
                 layer_norm(ones({4, 3}), {3}, ones({3}, {.dtype = f16}));
               },
               "layer_norm: weight must have the input's dtype, or f32 beside a half type, got "
               "f16 for f32"}},
      .also = {"fill_"},
      .functions = {"line_norm_backward"},
      .large = many_lines,
      .autocasts = Autocasts::f32};
}

Row rms_norm_row() {
  return {.op = "rms_norm",
          .tolerance = kSums,
          .calls = {{"default",
                     [](const Tensors& x) -> Tensors {
                       return {rms_norm(x[0], last_of(x[0], 1), x[1], 1e-5)};
                     }},
                    {"two",
                     [](const Tensors& x) -> Tensors {
                       return {rms_norm(x[0], last_of(x[0], 2), x[1], 1e-5)};
                     }},
                    {"plain", [](const Tensors& x) -> Tensors { return {rms_norm(x[0], {7})}; }}},
          .bad = {{[] { rms_norm(ones({4}), {}); },
                   "rms_norm: normalized_shape must have a dimension, got []"},
                  {[] {
                     rms_norm(ones({4, 3}, {.dtype = boolean}), {3});
                   },
                   "rms_norm: dtype must be floating, got bool"}},
          .also = {"fill_"},
          .large = many_lines,
          .autocasts = Autocasts::f32};
}

Row normalize_row() {
  return {.op = "normalize",
          .tolerance = {16, 16, 0, 1},
          .calls = {{"default", [](const Tensors& x) -> Tensors { return {normalize(x[0])}; }},
                    {"one", [](const Tensors& x) -> Tensors { return {normalize(x[0], 1, -1)}; }},
                    {"all",
                     [](const Tensors& x) -> Tensors {
                       return {normalize(x[0], 3, {0, 1}, 100)};
                     }}},
          .bad = {{[] { normalize(ones({2})); },
                   "normalize: dimension out of range, got dim 1 of a 1-d tensor"},
                  {[] {
                     normalize(ones({2, 3}, {.dtype = i64}));
                   },
                   "normalize: dtype must be floating, got i64"}},
          .also = {"clamp_min", "div", "norm"},
          .autocasts = Autocasts::f32};
}

Row renorm_row() {
  return {.op = "renorm",
          .tolerance = {16, 16, 0, 1},
          .calls = {{"default", [](const Tensors& x) -> Tensors { return {renorm(x[0], 2, 0, 3)}; },
                     [](const Tensors& x) { return renorm_(x[0], 2, 0, 3); }},
                    {"one", [](const Tensors& x) -> Tensors { return {renorm(x[0], 1, -1, 5)}; },
                     [](const Tensors& x) { return renorm_(x[0], 1, -1, 5); }}},
          .bad = {{[] { renorm(ones({2}), 2, 0, 1); },
                   "renorm: input must have 2 dimensions at least, got [2]"},
                  {[] {
                     renorm(ones({2, 3}), 0, 0, 1);
                   },
                   "renorm: p must be positive, got 0"},
                  {[] {
                     renorm(ones({2, 3}), 2, 0, -1);
                   },
                   "renorm: maxnorm can't be negative, got -1"},
                  {[] {
                     renorm_(ones({2, 3}, {.dtype = i64}), 2, 0, 1);
                   },
                   "renorm_: dtype must be floating, got i64"}},
          .also = {"add", "div", "gt", "mul", "norm", "to", "where"},
          .autocasts = Autocasts::f32};
}

}  // namespace

std::vector<Row> normalization_rows() {
  return {batch_norm_row(), instance_norm_row(), group_norm_row(), layer_norm_row(),
          rms_norm_row(),   normalize_row(),     renorm_row()};
}

}  // namespace aorta::catalog
