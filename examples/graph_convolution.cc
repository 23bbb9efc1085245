// A graph convolutional network (Kipf and Welling 2017): it labels the nodes of a large graph, of
// which few have a label to learn from. The graph is a sparse matrix, so that a step costs what its
// edges do, and not the square of its nodes.
//
//     graph_convolution [STEPS = 100] [NODES = 20000]
//
// The graph, made here, has four groups. Most edges stay inside a group, and a node's own features
// say little: a classifier of them alone is printed beside.
#include <aorta/aorta.h>

#include <iostream>

using namespace aorta;
constexpr int64_t kGroups = 4, kFeatures = 16, kEdges = 5;

struct GraphConvolution : nn::ModuleOf<GraphConvolution> {
  GraphConvolution(nn::Module& owner, const char* name, int64_t in, int64_t out)
      : ModuleOf(owner, name), project(*this, "project", in, out) {}
  // The edges (N, N), nodes (N, in) -> (N, out).
  Tensor forward(const SparseTensor& edges, const Tensor& x) const {
    return sparse::mm(edges, project(x));
  }
  nn::Linear project;
};

struct Net : nn::ModuleOf<Net> {
  Tensor forward(const SparseTensor& edges, const Tensor& x) const {
    return last(edges, drop(first(edges, x).relu()));
  }
  GraphConvolution first{*this, "first", kFeatures, 32}, last{*this, "last", 32, kGroups};
  nn::Dropout drop{*this, "drop", 0.5};
};

// D^-1/2 (A + I) D^-1/2, where D are the nodes' degrees.
SparseTensor normalized(const Tensor& ends, int64_t nodes) {
  const Tensor own = arange(nodes), loops = stack({own, own});
  const Tensor places = cat({ends, ends.flip({0}), loops}, 1);
  SparseTensor edges =
      sparse_coo_tensor(places, ones({places.size(1)}), Shape{nodes, nodes}).coalesce();
  edges.values = ones_like(edges.values);  // one that was drawn twice
  const Tensor scale = sparse::sum(edges, 1).rsqrt();
  edges.values = scale[edges.indices[0]] * scale[edges.indices[1]];
  return edges;
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  manual_seed(0);
  const int steps = argc > 1 ? std::stoi(argv[1]) : 100;
  const int64_t nodes = argc > 2 ? std::stoi(argv[2]) : 20000;
  // Node i is of group i % 4; an edge leads to any node, mostly moved to one of the same group.
  const Tensor group = arange(nodes) % kGroups, from = arange(nodes).repeat({kEdges});
  const Tensor any = randint(nodes / kGroups * kGroups, {nodes * kEdges});
  const Tensor inside = any - any % kGroups + from % kGroups;
  const Tensor to = where(rand({nodes * kEdges}) < 0.7, inside, any);
  const SparseTensor edges = normalized(stack({from, to}), nodes);
  const Tensor x = randn({nodes, kFeatures}) + one_hot(group, kFeatures);
  const Tensor known = rand({nodes}) < 0.02;
  const auto right = [&](const Tensor& logits) {
    return 100 * (logits.argmax(1) == group)[~known].to(f32).mean().item<float>();
  };
  Net net;
  const nn::Linear alone(kFeatures, kGroups);
  std::vector<Tensor> parameters = net.parameters();
  for (const Tensor& p : alone.parameters()) parameters.push_back(p);
  optim::Adam optimizer(parameters, {.lr = 1e-2, .weight_decay = 5e-4});
  for (int step = 1; step <= steps; ++step) {
    optimizer.zero_grad();
    (nn::cross_entropy(net(edges, x)[known], group[known]) +
     nn::cross_entropy(alone(x)[known], group[known]))
        .backward();
    optimizer.step();
  }
  net.eval();
  std::cout << edges << ": " << right(net(edges, x)) << " % of the unknown nodes right, "
            << right(alone(x)) << " % from their features alone\n";
}
