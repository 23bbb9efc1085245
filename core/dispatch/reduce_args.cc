#include <aorta/core/dispatch/reduce_args.h>
#include <aorta/core/empty.h>

#include <algorithm>

namespace aorta {

using namespace kernel;

namespace {

// Dimensions of a tensor, innermost first; an expanded one (stride 0) counts as outermost.
struct Ordered {
  int dims[kMaxDims];
  int count = 0;

  void sort_by(const Strides& strides) {
    const auto rank = [&](int d) { return strides[d] == 0 ? INT64_MAX : strides[d]; };
    for (int i = 1; i < count; ++i) {
      for (int j = i; j > 0 && rank(dims[j]) < rank(dims[j - 1]); --j)
        std::swap(dims[j], dims[j - 1]);
    }
  }
};

// Writes the ordered dimensions of `input`, neighbours merged, and returns how many are left.
int collapse(const Tensor& input, const Ordered& ordered, int64_t* shape, int64_t* strides) {
  const int64_t item = item_size(input.dtype());
  int n = 0;
  for (int i = 0; i < ordered.count; ++i) {
    const int64_t size = input.shape()[ordered.dims[i]];
    const int64_t stride = input.strides()[ordered.dims[i]] * item;
    if (n > 0 && stride == strides[n - 1] * shape[n - 1]) {
      shape[n - 1] *= size;
      continue;
    }
    shape[n] = size;
    strides[n] = stride;
    ++n;
  }
  return n;
}

bool contains(const Dims& dims, int dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

// A dense result whose kept dimensions lie in memory in the order given.
Tensor make_output(const Tensor& input, const Dims& dims, bool keepdim, const Ordered& kept,
                   DType dtype) {
  const TensorOptions options{.dtype = dtype, .device = input.device()};
  const Shape shape = reduced_shape(input, dims, keepdim);
  if (std::is_sorted(kept.dims, kept.dims + kept.count, std::greater<>()))
    return empty(shape, options);
  Strides strides = Dims::filled(shape.size(), 1);
  int64_t next = 1;
  for (int i = 0; i < kept.count; ++i) {
    const int dim = kept.dims[i];
    const auto dropped = [&](int d) { return !keepdim && d < dim; };
    strides[dim - static_cast<int>(std::count_if(dims.begin(), dims.end(), dropped))] = next;
    next *= input.shape()[dim];
  }
  return empty_strided(shape, strides, options);
}

}  // namespace

Dims ReduceDims::resolve(const char* op, const Tensor& input) const {
  check_defined(op, {{"input", input}});
  const int ndim = input.dim();
  bool chosen[kMaxDims] = {};
  for (int64_t given : dims_) {
    const int dim = wrap_dim(op, given, ndim);
    check(!chosen[dim], op, "a dimension can be given only once", dims_);
    chosen[dim] = true;
  }
  Dims resolved;
  for (int d = 0; d < ndim; ++d) {
    if (dims_.empty() || chosen[d]) resolved.push_back(d);
  }
  return resolved;
}

Shape kernel::reduced_shape(const Tensor& input, const Dims& dims, bool keepdim) {
  Shape shape;
  for (int d = 0; d < input.dim(); ++d) {
    if (!contains(dims, d))
      shape.push_back(input.shape()[d]);
    else if (keepdim)
      shape.push_back(1);
  }
  return shape;
}

ReduceResult kernel::run_reduce(ReduceKernel kernel, const Tensor& input, const Dims& dims,
                                bool keepdim, const ReducePlan& plan) {
  for (const DType dtype : {input.dtype(), plan.compute})
    check(!is_complex(dtype), plan.op, "dtype must be real", dtype);
  ReduceArgs args;
  Ordered kept, reduced;
  for (int d = input.dim() - 1; d >= 0; --d) {
    const int64_t size = input.shape()[d];
    const bool is_reduced = contains(dims, d);
    (is_reduced ? args.reduced : args.kept) *= size;
    if (size == 1) continue;
    Ordered& list = is_reduced ? reduced : kept;
    list.dims[list.count++] = d;
  }
  kept.sort_by(input.strides());
  if (!plan.positions) reduced.sort_by(input.strides());
  ReduceResult result;
  for (int k = 0; k < 2; ++k) {
    if (!plan.wanted[k]) continue;
    result.output[k] = make_output(input, dims, keepdim, kept, plan.output_dtype[k]);
    args.output[k] = static_cast<char*>(result.output[k].data());
    args.output_dtype[k] = plan.output_dtype[k];
  }
  if (args.kept == 0) return result;
  args.op = plan.op;
  args.reducer = plan.reducer;
  args.parameters = plan.parameters;
  args.input = static_cast<const char*>(input.data());
  args.input_dtype = input.dtype();
  args.compute = plan.compute;
  args.kept_ndim = collapse(input, kept, args.kept_shape, args.kept_strides);
  args.reduced_ndim = collapse(input, reduced, args.reduced_shape, args.reduced_strides);
  kernel(args);
  return result;
}

}  // namespace aorta
