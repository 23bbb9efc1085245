#include <aorta/core/ops/interpolate.h>

#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {
namespace {

std::vector<Call> calls() {
  return {
      {"default",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.size = {7, 11}})};
       }},
      {"nearest_half",
       [](const Tensors& x) -> Tensors { return {interpolate(x[0], {.scale_factor = {0.5}})}; }},
      {"nearest_lines",
       [](const Tensors& x) -> Tensors { return {interpolate(x[0], {.size = {17}})}; }},
      {"nearest_volumes",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.scale_factor = {2, 1.6, 0.7}})};
       }},
      {"exact",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.size = {13, 4}, .mode = InterpolateMode::nearest_exact})};
       }},
      {"exact_lines",
       [](const Tensors& x) -> Tensors {
         return {
             interpolate(x[0], {.scale_factor = {1.7}, .mode = InterpolateMode::nearest_exact})};
       }},
      {"exact_volumes",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.size = {4}, .mode = InterpolateMode::nearest_exact})};
       }},
      {"linear",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.size = {16}, .mode = InterpolateMode::linear})};
       }},
      {"linear_down",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.scale_factor = {0.6}, .mode = InterpolateMode::linear})};
       }},
      {"linear_corners",
       [](const Tensors& x) -> Tensors {
         return {interpolate(
             x[0], {.size = {12}, .mode = InterpolateMode::linear, .align_corners = true})};
       }},
      {"bilinear",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.size = {9, 4}, .mode = InterpolateMode::bilinear})};
       }},
      {"bilinear_same",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.size = {5, 9}, .mode = InterpolateMode::bilinear})};
       }},
      {"bilinear_corners",
       [](const Tensors& x) -> Tensors {
         return {interpolate(
             x[0], {.size = {8, 1}, .mode = InterpolateMode::bilinear, .align_corners = true})};
       }},
      {"bilinear_factor",
       [](const Tensors& x) -> Tensors {
         return {
             interpolate(x[0], {.scale_factor = {2.3, 0.45}, .mode = InterpolateMode::bilinear})};
       }},
      {"bilinear_recomputed",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.scale_factor = {2.3, 0.45},
                                    .mode = InterpolateMode::bilinear,
                                    .recompute_scale_factor = true})};
       }},
      {"bicubic",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.size = {9, 4}, .mode = InterpolateMode::bicubic})};
       }},
      {"bicubic_corners",
       [](const Tensors& x) -> Tensors {
         return {interpolate(
             x[0], {.size = {3, 11}, .mode = InterpolateMode::bicubic, .align_corners = true})};
       }},
      {"bicubic_factor",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.scale_factor = {1.5}, .mode = InterpolateMode::bicubic})};
       }},
      {"trilinear",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.size = {5, 3, 7}, .mode = InterpolateMode::trilinear})};
       }},
      {"trilinear_corners",
       [](const Tensors& x) -> Tensors {
         return {interpolate(
             x[0],
             {.scale_factor = {1.5}, .mode = InterpolateMode::trilinear, .align_corners = true})};
       }},
      {"area",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.size = {3, 9}, .mode = InterpolateMode::area})};
       }},
      {"area_lines",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.scale_factor = {0.6}, .mode = InterpolateMode::area})};
       }},
      {"area_volumes",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.size = {2, 3, 7}, .mode = InterpolateMode::area})};
       }},
      {"bilinear_smooth",
       [](const Tensors& x) -> Tensors {
         return {interpolate(
             x[0], {.size = {2, 9}, .mode = InterpolateMode::bilinear, .antialias = true})};
       }},
      {"bilinear_smooth_factor",
       [](const Tensors& x) -> Tensors {
         return {interpolate(
             x[0],
             {.scale_factor = {0.45, 0.7}, .mode = InterpolateMode::bilinear, .antialias = true})};
       }},
      {"bicubic_smooth",
       [](const Tensors& x) -> Tensors {
         return {interpolate(
             x[0], {.size = {3, 2}, .mode = InterpolateMode::bicubic, .antialias = true})};
       }},
      {"bicubic_smooth_corners",
       [](const Tensors& x) -> Tensors {
         return {interpolate(x[0], {.size = {2, 4},
                                    .mode = InterpolateMode::bicubic,
                                    .align_corners = true,
                                    .antialias = true})};
       }},
  };
}

std::vector<BadCall> bad_calls() {
  return {
      {[] {
         interpolate(ones({1, 1, 4, 4}, {.dtype = i64}), {.size = {2}});
       },
       "interpolate: dtype must be floating, got i64"},
      {[] {
         interpolate(ones({1, 4}), {.size = {2}});
       },
       "interpolate: input must be (N, C, L), (N, C, H, W) or (N, C, D, H, W), got [1,4]"},
      {[] {
         interpolate(ones({1, 1, 4}), {.size = {2}, .mode = InterpolateMode::bilinear});
       },
       "interpolate: bilinear takes (N, C, H, W), got [1,1,4]"},
      {[] {
         interpolate(ones({1, 1, 4}), {.size = {2}, .align_corners = true});
       },
       "interpolate: align_corners isn't for the nearest modes and area, got true"},
      {[] {
         interpolate(ones({1, 1, 4}), {.size = {2}, .antialias = true});
       },
       "interpolate: antialias is for bilinear and bicubic, got nearest"},
      {[] {
         interpolate(ones({1, 1, 4}), {});
       },
       "interpolate: either size or scale_factor must be given, got none"},
      {[] {
         interpolate(ones({1, 1, 4}), {.size = {2}, .scale_factor = {2}});
       },
       "interpolate: either size or scale_factor must be given, got both"},
      {[] {
         interpolate(ones({1, 1, 4}), {.size = {2, 2}});
       },
       "interpolate: a size for each spatial dimension or one for all, got [2,2] for [1,1,4]"},
      {[] {
         interpolate(ones({1, 1, 4}), {.size = {0}});
       },
       "interpolate: sizes must be positive and below 2^29, got [0]"},
      {[] {
         interpolate(ones({1, 1, 4}), {.scale_factor = {0.1}});
       },
       "interpolate: scale_factor must give sizes that are positive and below 2^29, got 0.1 for "
       "[1,1,4]"},
      {[] {
         interpolate(ones({1, 0, 4}), {.size = {2}});
       },
       "interpolate: sizes must be positive and below 2^29, but that of the batch, got [1,0,4]"}};
}

}  // namespace

std::vector<Row> interpolate_rows() {
  return {{.op = "interpolate",
           .tolerance = {1, 1, 4, 0, false},
           .calls = calls(),
           .bad = bad_calls(),
           .functions = {"resample", "transposed_plan"},
           .large = [] {
             return Tensors{numbers({5, 3, 180, 190})};
           }}};
}

}  // namespace aorta::catalog
