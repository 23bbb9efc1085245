#include <aorta/core/ops/cross_entropy.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>

namespace aorta::autograd {
namespace {

// A loss and its tensors, as a gradient function finds them again.
struct SavedLoss {
  ClassLoss loss;
  Saved input, target, weight, statistics;

  SavedLoss(const Tensor& x, const Tensor& t, const ClassLoss& given)
      : loss(given),
        input(x, 0),
        target(t, 1),
        weight(given.options.weight, 2),
        statistics(given.statistics, 3) {
    loss.options.weight = loss.statistics = Tensor();
  }
  ClassLoss get(Gradients& g) const {
    ClassLoss whole = loss;
    whole.options.weight = g.saved(weight);
    whole.statistics = g.saved(statistics);
    return whole;
  }
};

int class_dim(const Tensor& x) { return x.dim() == 1 ? 0 : 1; }

// The gradient that reaches each line's loss, along the classes.
Tensor line_gradient(const Tensor& gradient, const Tensor& x, const Tensor& target,
                     const ClassLoss& loss) {
  switch (loss.options.reduction) {
    case Reduction::none:
      return gradient.unsqueeze(class_dim(x));
    case Reduction::mean: {
      // As kernels do: a half type holds no 65,505 lines.
      const DType dtype = compute_dtype(gradient.dtype());
      Tensor total = loss.total.to(dtype);
      if (!is_floating(target.dtype())) {  // an ignored line stays 0 where all of them are ignored
        const Tensor ignored = eq(target.unsqueeze(class_dim(x)), loss.options.ignore_index);
        total = where(ignored, 1, total);
      }
      return (gradient.to(dtype) / total).to(gradient.dtype());
    }
    default:
      return gradient;
  }
}

// Class weights beside the input; 1 where there are none.
Tensor class_weights(const Tensor& x, const ClassLoss& loss) {
  const Tensor& weight = loss.options.weight;
  if (!weight.defined()) return ones({}, {.dtype = x.dtype(), .device = x.device()});
  Shape shape = Dims::filled(x.dim(), 1);
  shape[class_dim(x)] = weight.numel();
  return weight.to(x.dtype()).view(shape);
}

double share_of(const Tensor& x, const ClassLoss& loss) {
  return loss.options.label_smoothing / static_cast<double>(x.size(class_dim(x)));
}

// How much each class counts: the weighted and smoothed target, for classes as target.
Tensor weights_of_classes(const Tensor& x, const Tensor& target, const ClassLoss& loss) {
  const int dim = class_dim(x);
  const Tensor classes = target.to(DType::i64).unsqueeze(dim);
  const Tensor kept = ne(classes, loss.options.ignore_index).to(x.dtype());
  const Tensor chosen = where(eq(classes, loss.options.ignore_index), 0, classes);
  const Tensor own = scatter(zeros(x.shape(), {.dtype = x.dtype(), .device = x.device()}), dim,
                             chosen, kept * (1 - loss.options.label_smoothing));
  return class_weights(x, loss) * (own + kept * share_of(x, loss));
}

void cross_entropy_gradient(Tensor& output, const Tensor& input, const Tensor& target,
                            const ClassLoss& given) {
  record("cross_entropy", output, {&input, &target},
         [saved = SavedLoss(input, target, given)](Gradients& g) {
           const ClassLoss loss = saved.get(g);
           const Tensor x = g.saved(saved.input), t = g.saved(saved.target);
           const bool classes = !is_floating(t.dtype());
           if (g.wanted(0) && !grad_enabled()) {
             g.input(0) = cross_entropy_backward(g.output(), x, t, loss);
           } else if (g.wanted(0)) {
             const double kept = 1 - loss.options.label_smoothing;
             const Tensor q = classes ? weights_of_classes(x, t, loss)
                                      : class_weights(x, loss) * (t * kept + share_of(x, loss));
             const int dim = class_dim(x);
             // An ignored row counts for nothing, whatever stands in it.
             const Tensor there =
                 classes ? where(ne(t.unsqueeze(dim), loss.options.ignore_index), x, 0) : x;
             g.input(0) = line_gradient(g.output(), x, t, loss) *
                          (softmax(there, dim) * sum(q, dim, true) - q);
           }
           if (g.wanted(1) && !classes) {
             const double kept = loss.options.label_smoothing - 1;
             g.input(1) = line_gradient(g.output(), x, t, loss) * kept * class_weights(x, loss) *
                          log_softmax(x, class_dim(x));
           }
         });
}

void nll_loss_gradient(Tensor& output, const Tensor& input, const Tensor& target,
                       const ClassLoss& given) {
  record("nll_loss", output, {&input}, [saved = SavedLoss(input, target, given)](Gradients& g) {
    const ClassLoss loss = saved.get(g);
    const Tensor x = g.saved(saved.input), t = g.saved(saved.target);
    g.input() = grad_enabled()
                    ? line_gradient(g.output(), x, t, loss) * -weights_of_classes(x, t, loss)
                    : nll_loss_backward(g.output(), x, t, loss);
  });
}

}  // namespace

void register_cross_entropy() {
  cross_entropy_op.set_gradient(cross_entropy_gradient);
  nll_loss_op.set_gradient(nll_loss_gradient);
}

}  // namespace aorta::autograd
