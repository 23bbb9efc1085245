// A graph attention network (Velickovic et al. 2018): it labels the nodes of a graph, of which few
// have a label to learn from, by what their neighbours are, and learns whom to listen to.
//
//     graph_attention [STEPS = 100] [NODES = 400]
//
// The graph, made here, has four groups. Most edges stay inside a group, and a node's own features
// say little: a classifier of them alone is printed beside.
#include <aorta/aorta.h>

#include <iostream>

using namespace aorta;
constexpr int64_t kGroups = 4, kFeatures = 16;

struct GraphAttention : nn::ModuleOf<GraphAttention> {
  GraphAttention(nn::Module& owner, const char* name, int64_t in, int64_t out, int64_t heads)
      : ModuleOf(owner, name),
        project(*this, "project", in, heads * out, {.bias = false}),
        from(*this, "from", nn::init::xavier_uniform_(empty({heads, out}))),
        to(*this, "to", nn::init::xavier_uniform_(empty({heads, out}))) {}
  // Nodes (N, in), edges (N, N) of bool -> (N, heads, out).
  Tensor forward(const Tensor& x, const Tensor& edges) const {
    const Tensor h = project(x).view(x.size(0), from.size(0), -1);        // (N, heads, out)
    const Tensor of_from = (h * from).sum(-1), of_to = (h * to).sum(-1);  // (N, heads)
    Tensor score = leaky_relu(of_to.unsqueeze(1) + of_from.unsqueeze(0), 0.2);
    score = score.masked_fill(~edges.unsqueeze(-1), -INFINITY);  // (N, N, heads)
    return einsum("ijh,jhf->ihf", {score.softmax(1), h});
  }
  nn::Linear project;
  nn::Parameter from, to;
};

struct Net : nn::ModuleOf<Net> {
  Tensor forward(const Tensor& x, const Tensor& edges) const {
    return last(elu(first(x, edges).flatten(1)), edges).mean(1);
  }
  GraphAttention first{*this, "first", kFeatures, 8, 4}, last{*this, "last", 32, kGroups, 1};
};

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  manual_seed(0);
  const int steps = argc > 1 ? std::stoi(argv[1]) : 100;
  const int64_t nodes = argc > 2 ? std::stoi(argv[2]) : 400;
  const Tensor group = randint(kGroups, {nodes});
  const Tensor same = group.unsqueeze(0) == group.unsqueeze(1);
  const Tensor half = rand({nodes, nodes}) < where(same, 12.0 / nodes, 1.0 / nodes);
  const Tensor edges = half | half.t() | eye(nodes, {.dtype = boolean});
  const Tensor x = randn({nodes, kFeatures}) + 1.5 * one_hot(group, kFeatures);
  const Tensor known = arange(nodes) < nodes / 10;
  const auto right = [&](const Tensor& logits) {
    return 100 * (logits.argmax(1) == group)[~known].to(f32).mean().item<float>();
  };
  const Net net;
  const nn::Linear alone(kFeatures, kGroups);
  std::vector<Tensor> parameters = net.parameters();
  for (const Tensor& p : alone.parameters()) parameters.push_back(p);
  optim::Adam optimizer(parameters, {.lr = 1e-2, .weight_decay = 5e-3});
  for (int step = 1; step <= steps; ++step) {
    const Tensor logits = net(x, edges), of_alone = alone(x);
    optimizer.zero_grad();
    (nn::cross_entropy(logits[known], group[known]) +
     nn::cross_entropy(of_alone[known], group[known]))
        .backward();
    optimizer.step();
    if (step % 20 == 0 || step == steps)
      std::cout << "step " << step << ": " << right(logits) << " % of the unknown nodes right, "
                << right(of_alone) << " % from their features alone\n";
  }
}
