#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/onnx/export_call.h>

#include <algorithm>
#include <array>

// Pooling. Without a batch an input gets one.
namespace aorta::onnx {
namespace {

using body::PoolDim;

struct Pool {
  int spatial;
  std::array<PoolDim, 3> dims;
  const PoolDim* begin() const { return dims.data() + 3 - spatial; }
  const PoolDim* end() const { return dims.data() + 3; }
};

std::vector<int64_t> numbers(const Pool& pool, int64_t PoolDim::*field) {
  std::vector<int64_t> result;
  for (const PoolDim& dim : pool) result.push_back(dim.*field);
  return result;
}

// Windows of one size that lie side by side, where the sizes allow that.
bool make_regular(Pool& pool) {
  for (PoolDim& dim : pool.dims) {
    if (!dim.adaptive) continue;
    if (dim.output == 0 || dim.input % dim.output != 0) return false;
    dim.kernel = dim.stride = dim.input / dim.output;
  }
  return true;
}

bool is_ceil(const Pool& pool) {
  return std::any_of(pool.begin(), pool.end(), [](const PoolDim& dim) {
    const int64_t reach = (dim.kernel - 1) * dim.dilation + 1;
    return dim.output > (dim.input + 2 * dim.padding - reach) / dim.stride + 1;
  });
}

Attributes window(const Pool& pool) {
  std::vector<int64_t> pads = numbers(pool, &PoolDim::padding);
  const std::vector<int64_t> after = pads;
  pads.insert(pads.end(), after.begin(), after.end());
  Attributes attributes{attribute("kernel_shape", numbers(pool, &PoolDim::kernel)),
                        attribute("strides", numbers(pool, &PoolDim::stride)),
                        attribute("pads", std::move(pads))};
  if (is_ceil(pool)) attributes.push_back(attribute("ceil_mode", 1));
  return attributes;
}

std::string batched(const ExportCall& call, int spatial) {
  const bool is_one = call.input(0).dim() == spatial + 1;
  return is_one ? call.node("Unsqueeze", {call[0], call.integers({0})}) : call[0];
}
std::string without_batch(const ExportCall& call, int spatial, const std::string& value) {
  const bool is_one = call.input(0).dim() == spatial + 1;
  return is_one ? call.node("Squeeze", {value, call.integers({0})}) : value;
}

// ONNX counts places through the whole tensor, Aorta through a channel of a sample.
Names max_pool(const ExportCall& call) {
  const auto& [spatial, dims] = call.options<int, std::array<PoolDim, 3>>();
  Pool pool{spatial, dims};
  call.check(make_regular(pool), "output sizes must divide the input's", call.input(0).shape(),
             " to ", call.output().shape());
  const bool indices = call.is_read(1);
  Attributes attributes = window(pool);
  attributes.push_back(attribute("dilations", numbers(pool, &PoolDim::dilation)));
  const Names made = call.nodes("MaxPool", {batched(call, spatial)}, indices ? 2 : 1, attributes);
  Names result{without_batch(call, spatial, made[0])};
  if (!indices) return result;
  int64_t positions = 1;
  for (const PoolDim& dim : pool) positions *= dim.input;
  const std::string places = call.node("Mod", {made[1], call.integer(positions)});
  result.push_back(without_batch(call, spatial, places));
  return result;
}

// Row o has the weights of the input's positions for position o of the result.
Tensor adaptive_weights(const PoolDim& dim, DType dtype) {
  const Tensor weights = zeros({dim.input, dim.output}, {.dtype = DType::f64});
  for (int64_t o = 0; o < dim.output; ++o) {
    const body::WindowRange range = body::pool_window(dim, o);
    for (int64_t i = range.first; i < range.end; ++i)
      weights.at<double>({i, o}) = 1.0 / static_cast<double>(range.end - range.first);
  }
  return weights.to(dtype);
}

// A product with the weights along each dimension in turn, which comes last for it.
std::string adaptive_average(const ExportCall& call, const Pool& pool) {
  const int ndim = call.input(0).dim();
  std::string value = call[0];
  for (int d = 0; d < pool.spatial; ++d) {
    const PoolDim& dim = pool.begin()[d];
    std::vector<int64_t> order;
    for (int i = 0; i < ndim; ++i) order.push_back(i);
    std::swap(order[static_cast<size_t>(ndim - pool.spatial + d)], order.back());
    const Attributes swap{attribute("perm", order)};
    const std::string weights = call.constant(adaptive_weights(dim, call.input(0).dtype()));
    value = call.node("MatMul", {call.node("Transpose", {value}, swap), weights});
    value = call.node("Transpose", {value}, swap);
  }
  return value;
}

Names avg_pool(const ExportCall& call) {
  const auto& [plan] = call.options<kernel::AveragePlan>();
  Pool pool{plan.spatial, {plan.dims[0], plan.dims[1], plan.dims[2]}};
  const bool is_adaptive = pool.begin()->adaptive;
  if (is_adaptive && !make_regular(pool)) return {adaptive_average(call, pool)};
  const bool is_global = is_adaptive && std::all_of(pool.begin(), pool.end(),
                                                    [](const PoolDim& d) { return d.output == 1; });
  const std::string input = batched(call, plan.spatial);
  if (is_global)
    return {without_batch(call, plan.spatial, call.node("GlobalAveragePool", {input}))};
  const bool pads = plan.count_include_pad || plan.divisor_override != 0;
  const bool is_padded =
      std::any_of(pool.begin(), pool.end(), [](const PoolDim& dim) { return dim.padding > 0; });
  call.check(!(is_ceil(pool) && (is_padded || plan.divisor_override != 0)),
             "ceil_mode must come without padding and divisor_override, for readers differ there",
             call.input(0).shape());
  Attributes attributes = window(pool);
  if (pads && is_padded) attributes.push_back(attribute("count_include_pad", 1));
  std::string value = call.node("AveragePool", {input}, attributes);
  if (plan.divisor_override != 0) {
    double elements = 1;
    for (const PoolDim& dim : pool) elements *= static_cast<double>(dim.kernel);
    const double factor = elements / static_cast<double>(plan.divisor_override);
    value = call.node("Mul", {value, call.number(factor, call.output().dtype())});
  }
  return {without_batch(call, plan.spatial, value)};
}

}  // namespace

void add_pooling_exports(Exports& table) {
  table["max_pool"] = max_pool;
  table["avg_pool"] = avg_pool;
}

}  // namespace aorta::onnx
