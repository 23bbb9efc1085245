#include <aorta/core/ops/indexing.h>

#include <aorta/autograd/functions/embed.h>
#include <aorta/autograd/record.h>
#include <aorta/core/ops/indexed_plan.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>

namespace aorta::autograd {
namespace {

Tensor zeros_beside(const Tensor& like, const Shape& shape) {
  return zeros(shape, {.dtype = like.dtype(), .device = like.device()});
}

// The first elements along each dimension are the only ones that an op read.
Tensor fill_up(const Tensor& gradient, const Shape& shape) {
  Dims padding;
  for (int d = shape.size() - 1; d >= 0; --d) {
    padding.push_back(0);
    padding.push_back(shape[d] - gradient.shape()[d]);
  }
  return gradient.shape() == shape ? gradient : pad(gradient, padding);
}

void gather_gradient(Tensor& output, const Tensor& input, int dim, const Tensor& index) {
  record("gather", output, {&input}, [dim, places = Saved(index, 1)](Gradients& g) {
    g.input() = zeros_beside(g.output(), g.input_shape());
    kernel::add_along(g.input(), dim, g.saved(places), g.output());
  });
}

void scatter_gradient(const Tensor& self, int dim, const Tensor& index, const Tensor& source) {
  record("scatter_", self, {&self, nullptr, &source},
         [dim, places = Saved(index, 1)](Gradients& g) {
           const Tensor where = g.saved(places);
           if (g.wanted(0)) g.input(0) = scatter(g.output(), dim, where, 0);
           if (g.wanted(2)) g.input(2) = fill_up(gather(g.output(), dim, where), g.input_shape(2));
         });
}

void scatter_add_gradient(const Tensor& self, int dim, const Tensor& index, const Tensor& source) {
  record("scatter_add_", self, {&self, nullptr, &source},
         [dim, places = Saved(index, 1)](Gradients& g) {
           if (g.wanted(0)) g.input(0) = g.output();
           if (g.wanted(2))
             g.input(2) = fill_up(gather(g.output(), dim, g.saved(places)), g.input_shape(2));
         });
}

// What a scatter_reduce's gradients are computed from. 0-d tensors have become 1-d.
struct Reduction {
  Tensor gradient, input, source, result, index;
  int dim;
  bool include_self;

  Tensor spread(const Tensor& of_result) const { return gather(of_result, dim, index); }
  Tensor count(const Tensor& start, const Tensor& of_source) const {
    return scatter_add(start, dim, index, of_source);
  }
};

struct ReductionGradients {
  Tensor input, source;
};

ReductionGradients mean_backward(const Reduction& r) {
  const Tensor start = r.include_self ? ones_like(r.input) : zeros_like(r.input);
  const Tensor share = r.gradient / clamp_min(r.count(start, ones_like(r.source)), 1);
  return {share, r.spread(share)};
}

ReductionGradients extremum_backward(const Reduction& r) {
  const DType dtype = r.input.dtype();
  const Tensor input_is = eq(r.input, r.result).to(dtype);
  const Tensor source_is = eq(r.source, r.spread(r.result)).to(dtype);
  const Tensor start = r.include_self ? input_is : zeros_like(input_is);
  const Tensor share = r.gradient / clamp_min(r.count(start, source_is), 1);
  return {input_is * share, source_is * r.spread(share)};
}

// The product of the other factors: where one factor is 0 the quotient isn't defined.
ReductionGradients product_backward(const Reduction& r) {
  const Tensor input_zero = eq(r.input, 0), source_zero = eq(r.source, 0);
  const Tensor start = r.include_self ? r.input : ones_like(r.input);
  const auto product = [&](const Tensor& input, const Tensor& source) {
    return scatter_reduce(input, r.dim, r.index, source, ScatterReduce::prod, true);
  };
  const Tensor others_of_input = product(ones_like(r.input), r.source);
  const DType dtype = r.input.dtype();
  const Tensor none = r.include_self ? input_zero.to(dtype) : zeros_like(r.input);
  const Tensor zeros_met = r.spread(r.count(none, source_zero.to(dtype)));
  const Tensor only_zero = logical_and(source_zero, eq(zeros_met, 1));
  const Tensor without_zeros = product(r.include_self ? where(input_zero, 1, start) : start,
                                       where(source_zero, 1, r.source));
  const Tensor divided = r.spread(product(start, r.source)) / where(source_zero, 1, r.source);
  const Tensor slope = where(only_zero, r.spread(without_zeros), where(source_zero, 0, divided));
  return {r.gradient * others_of_input, slope * r.spread(r.gradient)};
}

ReductionGradients reduction_backward(const Reduction& r, ScatterReduce reduce) {
  switch (reduce) {
    case ScatterReduce::sum:
      return {r.gradient, r.spread(r.gradient)};
    case ScatterReduce::mean:
      return mean_backward(r);
    case ScatterReduce::amax:
    case ScatterReduce::amin:
      return extremum_backward(r);
    case ScatterReduce::prod:
      return product_backward(r);
  }
  return {};
}

void scatter_reduce_gradient(Tensor& output, const Tensor& input, int dim, const Tensor& index,
                             const Tensor& source, ScatterReduce reduce, bool include_self) {
  record("scatter_reduce", output, {&input, nullptr, &source},
         [dim, reduce, include_self, places = Saved(index, 1), x = Saved(input, 0),
          s = Saved(source, 2), y = Saved::output(output)](Gradients& g) {
           const auto lifted = [](const Tensor& t) { return t.dim() == 0 ? t.unsqueeze(0) : t; };
           const Tensor where = lifted(g.saved(places)), all_of_source = lifted(g.saved(s));
           Tensor met = all_of_source;
           for (int d = 0; d < met.dim(); ++d) met = met.narrow(d, 0, where.size(d));
           const Reduction r{
               lifted(g.output()), lifted(g.saved(x)), met, lifted(g.saved(y)), where, dim,
               include_self};
           ReductionGradients both = reduction_backward(r, reduce);
           if (!include_self) both.input = scatter(both.input, dim, where, 0);
           if (g.wanted(0)) g.input(0) = both.input.reshape(g.input_shape(0));
           if (g.wanted(2))
             g.input(2) = fill_up(both.source, all_of_source.shape()).reshape(g.input_shape(2));
         });
}

}  // namespace

void register_indexing() {
  gather_op.set_gradient(gather_gradient);
  scatter_op.set_gradient(scatter_gradient);
  scatter_add_op.set_gradient(scatter_add_gradient);
  scatter_reduce_op.set_gradient(scatter_reduce_gradient);
}

}  // namespace aorta::autograd
