// Gradients: a textbook graph, a second derivative, a custom function, and the graph as a picture.
#include <aorta/aorta.h>

#include <fstream>
#include <iostream>

using namespace aorta;

// x^3 with a gradient of its own.
struct Cube : autograd::Function<Cube> {
  static constexpr const char* name = "cube";
  static std::vector<Tensor> forward(FunctionContext& context, const Tensor& x) {
    context.save_for_backward({x});
    return {x * x * x};
  }
  static std::vector<Tensor> backward(FunctionContext& context,
                                      const std::vector<Tensor>& gradients) {
    return {gradients[0] * 3 * square(context.saved_tensors()[0])};
  }
};

int main(int argc, char** argv) {
  const TensorOptions leaf{.dtype = f64, .requires_grad = true};
  const Tensor x = full({}, -2, leaf), y = full({}, 5, leaf), z = full({}, -4, leaf);
  const Tensor f = (x + y) * z;
  f.backward();
  std::cout << "f = (x + y) z = " << f << "\n  df/dx = " << x.grad() << "\n  df/dy = " << y.grad()
            << "\n  df/dz = " << z.grad() << "\n\n";

  const Tensor t = full({}, 2, leaf);
  const Tensor first = autograd::grad({Cube::apply(t)[0]}, {t}, {}, {.create_graph = true})[0];
  std::cout << "t^3 at 2: first derivative " << first << ", second "
            << autograd::grad({first}, {t})[0] << "\n";

  // Two layers, drawn: gradients GRAPH.dot, then tools/graph_svg.sh GRAPH.dot.
  if (argc < 2) return 0;
  const Tensor w1 = zeros({30, 784}, {.requires_grad = true}),
               b1 = zeros({30}, {.requires_grad = true});
  const Tensor w2 = zeros({10, 30}, {.requires_grad = true});
  const Tensor scores = linear(linear(rand({8, 784}), w1, b1).sigmoid(), w2);
  std::ofstream(argv[1]) << autograd::to_dot(
      scores.square().mean(), {{"hidden.weight", w1}, {"hidden.bias", b1}, {"output.weight", w2}});
  std::cout << "wrote " << argv[1] << "\n";
}
