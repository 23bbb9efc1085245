// One process of rpc_test.py's gradients: a network over several processes has those of the same
// network in one.
#include <aorta/aorta.h>
#include <aorta/core/process/process_group.h>
#include <aorta/nn/parallel/distributed_data_parallel.h>
#include <aorta/rpc/distributed_optimizer.h>
#include <aorta/rpc/remote_module.h>
#include <aorta/tests/rpc/workers.h>
#include <aorta/tests/same_bits.h>

#include <cstdio>
#include <cstring>

namespace {

using namespace aorta;
namespace rpc = distributed::rpc;
namespace dist_autograd = distributed::autograd;

Tensor numbers(const Shape& shape, uint64_t seed) {
  Generator random(seed);
  return randn(shape, {}, &random);
}

// Every process has the same weight, so that any of them can compute all of it.
Tensor weight() {
  static const Tensor instance = numbers({4, 4}, 5).requires_grad_();
  return instance;
}
Tensor layer(const Tensor& x) { return tanh(matmul(x, weight())); }
// A layer here, and the rest in the processes that follow.
Tensor layers(const Tensor& x, int64_t more) {
  const Tensor y = layer(x);
  return more == 0 ? y : rpc::rpc_sync<&layers>(next_name(), y, more - 1);
}
Tensor gradient_of_weight(int64_t context) {
  const auto gradients = dist_autograd::get_gradients(context);
  return gradients.contains(weight()) ? gradients[weight()] : Tensor();
}

Tensor sum_of_weights(int64_t context) {
  Tensor sum = zeros({4, 4});
  for (int i = 0; i < size(); ++i)
    if (const Tensor one = rpc::rpc_sync<&gradient_of_weight>(i, context); one.defined())
      sum = sum + one;
  return sum;
}

// The gradients of x and of the weight in one process.
std::pair<Tensor, Tensor> alone(const Tensor& x, const std::function<Tensor(const Tensor&)>& loss) {
  const Tensor input = x.detach().requires_grad_();
  const std::vector<Tensor> found = autograd::grad({loss(input)}, {input, weight()});
  return {found[0], found[1]};
}

void must_be_close(const Tensor& found, const Tensor& wanted, const std::string& what) {
  must(allclose(found, wanted, 1e-5, 1e-6), what);
}

// A chain that goes round twice: each process has two sends and two receives.
void chain() {
  if (rank() != 0) return;
  const Tensor x = numbers({3, 4}, 7).requires_grad_();
  const int64_t depth = 2 * size();
  const dist_autograd::context context;
  const Tensor y = rpc::rpc_sync<&layers>(next_name(), layer(x), depth - 1);
  dist_autograd::backward(context.id(), {y.square().sum()});
  const auto [of_x, of_weight] = alone(x, [&](const Tensor& input) {
    Tensor out = input;
    for (int64_t i = 0; i <= depth; ++i) out = layer(out);
    return out.square().sum();
  });
  must_be_close(dist_autograd::get_gradients(context.id())[x], of_x, "a chain's input");
  must_be_close(sum_of_weights(context.id()), of_weight, "a chain's weights");
  must(!x.grad().defined() && !weight().grad().defined(), "grad() must stay as it was");
}

// Each state goes to two processes, whose results meet: a pass a path would double with each step.
void diamonds() {
  if (rank() != 0) return;
  const Tensor x = numbers({2, 4}, 9).requires_grad_();
  constexpr int kSteps = 12;
  const dist_autograd::context context;
  Tensor y = x;
  for (int i = 0; i < kSteps; ++i) {
    const auto left = rpc::rpc_async<&layer>(1 % size(), y);
    y = left.wait() + rpc::rpc_sync<&layer>(2 % size(), y) * 0.5;
  }
  dist_autograd::backward(context.id(), {y.sum()});
  const auto [of_x, of_weight] = alone(x, [&](const Tensor& input) {
    Tensor out = input;
    for (int i = 0; i < kSteps; ++i) out = layer(out) + layer(out) * 0.5;
    return out.sum();
  });
  must_be_close(dist_autograd::get_gradients(context.id())[x], of_x, "diamonds' input");
  must_be_close(sum_of_weights(context.id()), of_weight, "diamonds' weights");
}

// What is called and not used, what is used in part, and what comes in a struct.
std::pair<Tensor, Tensor> halves(const Tensor& x) { return {layer(x), layer(x * 2)}; }
void unused() {
  if (rank() != 0) return;
  const Tensor x = numbers({2, 4}, 11).requires_grad_();
  const dist_autograd::context context;
  rpc::rpc_sync<&layers>(next_name(), x, int64_t{2});  // not a part of the loss
  const auto [first, second] = rpc::rpc_sync<&halves>(next_name(), x);
  dist_autograd::backward(context.id(), {first.sum()});
  const auto [of_x, of_weight] = alone(x, [](const Tensor& input) { return layer(input).sum(); });
  must_be_close(dist_autograd::get_gradients(context.id())[x], of_x, "a part's input");
  must_be_close(sum_of_weights(context.id()), of_weight, "a part's weights");
}

// What isn't used goes on to a third process, which shares a part with what is.
std::pair<Tensor, Tensor> forked(const Tensor& x) {
  const Tensor shared = layer(x);
  return {layer(shared), rpc::rpc_sync<&layers>(name_of(2 % size()), shared, int64_t{1})};
}
void half_used() {
  if (rank() != 0) return;
  const Tensor x = numbers({2, 4}, 12).requires_grad_();
  const dist_autograd::context context;
  const auto [first, second] = rpc::rpc_sync<&forked>(next_name(), x);
  dist_autograd::backward(context.id(), {first.sum()});
  const auto [of_x, of_weight] =
      alone(x, [](const Tensor& input) { return layer(layer(input)).sum(); });
  must_be_close(dist_autograd::get_gradients(context.id())[x], of_x, "the used half's input");
  must_be_close(sum_of_weights(context.id()), of_weight, "the used half's weights");
}

// Calls of callbacks are in the context, whether these run at once or later.
Tensor slow_layer(const Tensor& x) {
  usleep(20'000);
  return layer(x);
}
void callbacks() {
  if (rank() != 0) return;
  for (const bool late : {false, true}) {
    const Tensor x = numbers({2, 4}, 14).requires_grad_();
    const dist_autograd::context context;
    const auto first =
        late ? rpc::rpc_async<&slow_layer>(next_name(), x) : rpc::rpc_async<&layer>(next_name(), x);
    if (!late) first.wait();
    const auto second = first.then(
        [](const auto& done) { return rpc::rpc_sync<&layer>(name_of(0), done.value()); });
    dist_autograd::backward(context.id(), {second.wait().sum()});
    const auto [of_x, of_weight] =
        alone(x, [](const Tensor& input) { return layer(layer(input)).sum(); });
    must_be_close(dist_autograd::get_gradients(context.id())[x], of_x, "a callback's input");
    must_be_close(sum_of_weights(context.id()), of_weight, "a callback's weights");
  }
}

// Several passes, and several roots, of one context add up.
void passes() {
  if (rank() != 0) return;
  const Tensor x = numbers({2, 4}, 13).requires_grad_();
  const dist_autograd::context context;
  const Tensor y = rpc::rpc_sync<&layers>(next_name(), x, int64_t{1});
  dist_autograd::backward(context.id(), {y.sum()}, true);
  dist_autograd::backward(context.id(), {y.sum(), y.square().sum()});
  const auto [of_x, of_weight] = alone(x, [](const Tensor& input) {
    const Tensor out = layer(layer(input));
    return out.sum() * 2 + out.square().sum();
  });
  must_be_close(dist_autograd::get_gradients(context.id())[x], of_x, "two passes' input");
  must_be_close(sum_of_weights(context.id()), of_weight, "two passes' weights");
  const std::string said = error_of([&] { dist_autograd::backward(context.id(), {y.sum()}); });
  must(said.find("a graph can be run a second time only if the first kept it") != std::string::npos,
       "a graph that is gone must be said to be");
}

// Contexts of all processes at once don't meet.
void contexts() {
  for (int i = 0; i < 10; ++i) {
    const Tensor x = numbers({2, 4}, static_cast<uint64_t>(100 + 10 * rank() + i)).requires_grad_();
    const dist_autograd::context context;
    const Tensor y = rpc::rpc_sync<&layers>(next_name(), layer(x), int64_t{size()});
    dist_autograd::backward(context.id(), {y.sum()});
    const auto [of_x, of_weight] = alone(x, [](const Tensor& input) {
      Tensor out = input;
      for (int step = 0; step < size() + 2; ++step) out = layer(out);
      return out.sum();
    });
    must_be_close(dist_autograd::get_gradients(context.id())[x], of_x, "contexts' input");
    must_be_close(sum_of_weights(context.id()), of_weight, "contexts' weights");
  }
}

struct Breaks : autograd::Function<Breaks> {
  static constexpr const char* name = "breaks";
  static std::vector<Tensor> forward(FunctionContext&, const Tensor& x) { return {x * 2}; }
  static std::vector<Tensor> backward(FunctionContext&, const std::vector<Tensor>&) {
    fail("breaks", "it never works", "a call");
  }
};
Tensor broken(const Tensor& x) { return Breaks::apply(x)[0]; }
bool requires_gradient(const Tensor& x) { return x.requires_grad(); }

void faults() {
  if (rank() != 0) return;
  const Tensor x = numbers({4}, 3).requires_grad_();
  must(!rpc::rpc_sync<&requires_gradient>("worker1", x), "without a context nothing is noted");
  const dist_autograd::context context;
  must(rpc::rpc_sync<&requires_gradient>("worker1", x), "in a context gradients go along");
  {
    const NoGradGuard none;
    must(!rpc::rpc_sync<&requires_gradient>("worker1", x), "without gradients nothing is noted");
  }
  must(!rpc::rpc_sync<&requires_gradient>("worker1", x.detach()), "nor of what needs none");
  const Tensor y = rpc::rpc_sync<&broken>("worker1", x);
  must_say(error_of([&] { dist_autograd::backward(context.id(), {y.sum()}); }),
           "worker1: breaks: it never works, got a call");
  must_say(error_of([&] { y.sum().backward(); }),
           "backward: the gradients of what another process has sent must be asked for by "
           "distributed::autograd::backward(), in the context of the call, got backward()");
  must_say(error_of([&] { dist_autograd::backward(context.id(), {y}); }),
           "distributed::autograd::backward: roots must be single real numbers, got [4] of f32");
  must_say(error_of([&] { dist_autograd::backward(context.id(), {ones({})}); }),
           "distributed::autograd::backward: a root must require a gradient, got []");
  must_say(error_of([&] { dist_autograd::backward(999, {y.sum()}); }),
           "distributed::autograd::backward: the context must live, got 999");
  must_say(
      error_of([] { dist_autograd::context again; }),
      "distributed::autograd::context: a thread has one at a time, got a second one, inside of "
      "the first");
  must_say(
      error_of([&] { dist_autograd::get_gradients(context.id())[ones({2}).requires_grad_()]; }),
      "get_gradients: the context must have a gradient of the leaf, got [2]");
}

// What a context has noted is gone with it, in all processes.
bool has_context(int64_t id) {
  return error_of([&] { dist_autograd::get_gradients(id); }) == "no error";
}
void ends() {
  if (rank() != 0) return;
  int64_t id = 0;
  {
    const dist_autograd::context context;
    id = context.id();
    const Tensor y =
        rpc::rpc_sync<&layers>(next_name(), numbers({2, 4}, 1).requires_grad_(), int64_t{size()});
    dist_autograd::backward(id, {y.sum()});
    for (int i = 0; i < size(); ++i) must(rpc::rpc_sync<&has_context>(i, id), "all must have it");
  }
  for (int i = 0; i < size(); ++i) {
    for (int wait = 0; wait < 1000 && rpc::rpc_sync<&has_context>(i, id); ++wait) usleep(1000);
    must(!rpc::rpc_sync<&has_context>(i, id), "none must have it any more");
  }
}

// Modules and optimizers of other processes, beside the same ones here.
struct Net : nn::ModuleOf<Net> {
  Net(int64_t inputs, int64_t outputs)
      : output(*this, "output", 8, outputs), hidden(*this, "hidden", inputs, 8) {
    const NoGradGuard none;
    for (const Tensor& parameter : parameters())
      parameter.copy_(numbers(parameter.shape(), 17) * 0.3);
  }
  nn::Linear output, hidden;
  Tensor forward(const Tensor& x, double scale) const { return output(relu(hidden(x))) * scale; }
};

template <class O>
void trains_as_alone(const typename O::Options& options) {
  const Tensor x = numbers({6, 5}, 19), target = numbers({6, 2}, 23);
  Net own(5, 2), before(5, 5);
  O optimizer(own.parameters(), options), other(before.parameters(), options);
  const distributed::nn::RemoteModule<Net> net("worker1", 5, 2);
  const distributed::nn::RemoteModule<Net> first("worker2/cpu", 5, 5);
  std::vector<rpc::RRef<Tensor>> parameters = net.remote_parameters();
  for (const auto& one : first.remote_parameters()) parameters.push_back(one);
  const distributed::optim::DistributedOptimizer<O> both(parameters, options);
  for (int step = 0; step < 8; ++step) {
    optimizer.zero_grad(), other.zero_grad();
    const Tensor loss = (own(before(x, 0.5), 2.0) - target).square().sum();
    loss.backward();
    optimizer.step(), other.step();
    const dist_autograd::context context;
    const Tensor found = (net(first(x, 0.5), 2.0) - target).square().sum();
    must(same_bits(found.detach(), loss.detach()), "a step's loss must be that of one process");
    dist_autograd::backward(context.id(), {found});
    both.step(context.id());
  }
  const std::vector<Tensor> wanted = own.parameters();
  const auto references = net.remote_parameters();
  for (size_t i = 0; i < wanted.size(); ++i)
    must(same_bits(references[i].to_here(), wanted[i].detach()),
         "weights must be those of one process");
}

void trains() {
  if (rank() != 0) return;
  trains_as_alone<optim::SGD>({.lr = 0.05, .momentum = 0.9});
  trains_as_alone<optim::AdamW>({.lr = 0.01, .betas = {0.8, 0.95}});
  trains_as_alone<optim::RMSprop>({.lr = 0.01});
  const distributed::nn::RemoteModule<Net> net("worker1", 5, 2);
  must_say(error_of([&] {
             net(ones({2, 3}), 1.0);
           }),
           "worker1: hidden: linear: the inner sizes must match, got [2,3] and [8,5]");
  must_say(error_of([] { distributed::nn::RemoteModule<Net>("worker9", 5, 2); }),
           "rpc: a worker must be one of worker0, worker1, worker2, got \"worker9\"");
  must_say(error_of([&] {
             distributed::optim::DistributedOptimizer<optim::SGD>(net.remote_parameters(),
                                                                  {.lr = -1});
           }),
           "worker1: sgd: lr must be at least 0, got -1");
}

const std::pair<const char*, void (*)()> kScenes[] = {
    {"chain", chain},         {"diamonds", diamonds},   {"unused", unused},
    {"half_used", half_used}, {"callbacks", callbacks}, {"passes", passes},
    {"contexts", contexts},   {"faults", faults},       {"ends", ends},
    {"trains", trains},
};

}  // namespace

int main(int argc, char** argv) try {
  aorta::init(argc, argv);
  if (!distributed::is_initialized()) distributed::init_process_group();
  rpc::init_rpc(name_of(rank()));
  for (const auto& [name, function] : kScenes)
    if (std::strcmp(argv[1], name) == 0) function();
  rpc::shutdown();
  return 0;
} catch (const aorta::Error& error) {
  std::fprintf(stderr, "rank %d: %s\n", rank(), error.what());
  distributed::world().abort("rank " + std::to_string(rank()) + ": " + error.what());
  return 3;
}
