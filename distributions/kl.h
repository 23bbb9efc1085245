#pragma once

#include <aorta/distributions/distribution.h>

#include <functional>

namespace aorta::distributions {

/// The Kullback-Leibler divergence of q from p, the mean of log(p(x) / q(x)) over samples of p, in
/// nats: (B), to which both batch shapes broadcast; inf where p has values that q hasn't. Errors:
/// no formula is known for the two classes (docs/distributions.md lists those that have one).
Tensor kl_divergence(const Distribution& p, const Distribution& q);

namespace detail {

using Divergence = std::function<Tensor(const Distribution& p, const Distribution& q)>;

/// The divergence of p and q of the classes P and Q, and which p and q are of these.
struct Formula {
  bool (*matches)(const Distribution& p, const Distribution& q);
  Divergence divergence;
};
template <class P, class Q, class F>
Formula formula(const F& divergence) {
  return {[](const Distribution& p, const Distribution& q) {
            return dynamic_cast<const P*>(&p) != nullptr && dynamic_cast<const Q*>(&q) != nullptr;
          },
          [divergence](const Distribution& p, const Distribution& q) {
            return divergence(dynamic_cast<const P&>(p), dynamic_cast<const Q&>(q));
          }};
}
void register_kl(Formula formula);

}  // namespace detail

/// From now on kl_divergence(p, q) of these classes is `divergence(p, q)`: for classes of one's
/// own, or instead of what there was. Safe to call from several threads.
template <class P, class Q, class F>
void register_kl(const F& divergence) {
  detail::register_kl(detail::formula<P, Q>(divergence));
}

}  // namespace aorta::distributions
