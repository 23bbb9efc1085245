#include <aorta/core/cpu/interpolate.h>

#include <aorta/core/cpu/tiles.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/interpolate.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>

namespace aorta::cpu {
namespace {

using body::InterpolateArgs;
using body::InterpolateMap;

int64_t terms_of(const InterpolateMap& map) { return map.first[map.output]; }

void interpolate_kernel(const InterpolateArgs& args) {
  const DType compute = args.dtype == DType::f64 ? DType::f64 : DType::f32;
  std::vector<float> rounded[3];
  const void* weights[3];
  for (int d = 0; d < 3; ++d) {
    const double* const all = args.dims[d].weight;
    weights[d] = all;
    if (compute == DType::f64) continue;
    rounded[d].assign(all, all + terms_of(args.dims[d]));
    weights[d] = rounded[d].data();
  }
  const InterpolateMap &depth = args.dims[0], &height = args.dims[1], &width = args.dims[2];
  const int64_t read = std::max<int64_t>(terms_of(depth) / depth.output, 1) *
                       std::max<int64_t>(terms_of(height) / height.output, 1);
  const int64_t work = args.inner * (read * width.input + terms_of(width) + width.output);
  const auto rows =
      for_isa(v2::interpolate_rows, v3::interpolate_rows, v4::interpolate_rows)(args.dtype);
  parallel_for(0, args.outer * depth.output * height.output,
               std::max<int64_t>(kThreadGrain / work, 1), [&](int64_t begin, int64_t end) {
                 const Tensor scratch = empty({width.input * args.inner}, {.dtype = compute});
                 rows(args, weights, begin, end, scratch.data());
               });
}

}  // namespace

void register_interpolate() { interpolate_op.set_kernel(DeviceType::cpu, interpolate_kernel); }

}  // namespace aorta::cpu
