// REINFORCE (Williams 1992): a network learns by trial to keep a pole upright on a cart, which it
// pushes to the left or to the right fifty times a second.
//
//     cart_pole [EPISODES = 400] [SEED = 1]
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

nn::Sequential make_policy() {
  return nn::Sequential{nn::Linear(4, 128), nn::ReLU(), nn::Linear(128, 2)};
}

// REINFORCE's: `chosen` (T) are the logarithms of the chances of what was done, returns (T) what
// each led to.
Tensor loss_of(const Tensor& chosen, const Tensor& returns) {
  const Tensor advantage = (returns - returns.mean()) / (returns.std() + 1e-6);
  return (-chosen * advantage).sum();
}

int main(int argc, char** argv) {
  aorta::init(argc, argv);
  const int episodes = argc > 1 ? std::stoi(argv[1]) : 400;
  manual_seed(argc > 2 ? std::stoi(argv[2]) : 1);
  const nn::Sequential policy = make_policy();
  optim::Adam optimizer(policy.parameters(), {.lr = 3e-3});
  double average = 10;
  for (int episode = 1; episode <= episodes; ++episode) {
    CartPole pole;
    std::vector<Tensor> chosen;
    for (bool done = false; !done;) {
      const Tensor log_p = policy(tensor(pole.state)).log_softmax(-1);
      const int64_t action = multinomial(log_p.detach().exp(), 1).item<int64_t>();
      chosen.push_back(log_p[action]);
      done = pole.step(action == 1);
    }
    // What each action led to: a point for each step after it, worth less the later it comes.
    std::vector<float> returns(chosen.size());
    float total = 0;
    for (size_t i = returns.size(); i-- > 0;) returns[i] = total = 1 + 0.99f * total;
    optimizer.zero_grad();
    loss_of(stack(chosen), tensor(returns)).backward();
    optimizer.step();
    average += 0.05 * (pole.time - average);
    if (episode % 50 == 0)
      std::cout << "episode " << episode << ": " << pole.time << " steps, on average " << average
                << std::endl;
  }
}
