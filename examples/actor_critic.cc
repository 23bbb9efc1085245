// An actor that keeps a pole upright on a cart, and a critic that tells how long it will: the actor
// learns from what went better than the critic thought.
//
//     actor_critic [EPISODES = 400] [SEED = 1]
#include <aorta/aorta.h>

#include <cmath>
#include <iostream>

using namespace aorta;

// A pole of 1 m and 0.1 kg on a cart of 1 kg (Barto, Sutton and Anderson 1983).
struct CartPole {
  std::vector<float> state = uniform_(empty({4}), -0.05, 0.05).to_vector<float>();
  int time = 0;
  // True when the pole has fallen, the cart has left its track, or 10 s are over.
  bool step(bool right) {
    const float x = state[0], speed = state[1], angle = state[2], turning = state[3];
    const float c = std::cos(angle), s = std::sin(angle);
    const float force = ((right ? 10 : -10) + 0.05f * turning * turning * s) / 1.1f;
    const float turn = (9.8f * s - c * force) / (0.5f * (4 / 3.f - 0.1f * c * c / 1.1f));
    const float push = force - 0.05f * turn * c / 1.1f;
    state = {x + 0.02f * speed, speed + 0.02f * push, angle + 0.02f * turning,
             turning + 0.02f * turn};
    return std::abs(state[0]) > 2.4f || std::abs(state[2]) > 0.2095f || ++time >= 500;
  }
};

struct ActorCritic : nn::ModuleOf<ActorCritic> {
  // The logarithms of both actions' chances (2), and the return that is expected (1).
  std::pair<Tensor, Tensor> forward(Tensor state) const {
    const Tensor h = body(state).relu();
    return {actor(h).log_softmax(-1), critic(h)};
  }
  nn::Linear body{*this, "body", 4, 128}, actor{*this, "actor", 128, 2};
  nn::Linear critic{*this, "critic", 128, 1};
};

// `chosen` (T) are the logarithms of the chances of what was done, values (T) what the critic
// expected, returns (T) what came.
Tensor loss_of(const Tensor& chosen, const Tensor& values, const Tensor& returns) {
  const Tensor target = (returns - returns.mean()) / (returns.std() + 1e-6);
  const Tensor advantage = target - values.detach();
  return (-chosen * advantage).sum() + smooth_l1_loss(values, target, Reduction::sum);
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  const int episodes = argc > 1 ? std::stoi(argv[1]) : 400;
  manual_seed(argc > 2 ? std::stoi(argv[2]) : 1);
  const ActorCritic net;
  optim::Adam optimizer(net.parameters(), {.lr = 1e-2});
  double average = 10;
  for (int episode = 1; episode <= episodes; ++episode) {
    CartPole pole;
    std::vector<Tensor> chosen, values;
    for (bool done = false; !done;) {
      const auto [log_p, value] = net(tensor(pole.state));
      const int64_t action = multinomial(log_p.detach().exp(), 1).item<int64_t>();
      chosen.push_back(log_p[action]);
      values.push_back(value[0]);
      done = pole.step(action == 1);
    }
    std::vector<float> returns(chosen.size());
    float total = 0;
    for (size_t i = returns.size(); i-- > 0;) returns[i] = total = 1 + 0.99f * total;
    optimizer.zero_grad();
    loss_of(stack(chosen), stack(values), tensor(returns)).backward();
    optimizer.step();
    average += 0.05 * (pole.time - average);
    if (episode % 50 == 0)
      std::cout << "episode " << episode << ": " << pole.time << " steps, on average " << average
                << std::endl;
  }
}
