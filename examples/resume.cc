// A training that may end at any moment. Started again it goes on where its last checkpoint is, in
// the middle of an epoch too, and its weights at the end are the same bits as if nothing happened.
//
//     resume [EPOCHS = 20] [CHECKPOINT = run.safetensors] [STEPS BEFORE IT STOPS = all]
#include <aorta/aorta.h>

#include <filesystem>
#include <iostream>

using namespace aorta;

// Two spirals of 500 points each, and which of them a point is of.
std::shared_ptr<const data::Dataset> spirals() {
  Generator random(1);
  const Tensor label = arange(1000) % 2;
  const Tensor angle = 7 * rand({1000}, {}, &random).sqrt();
  const Tensor radius = where(label == 0, angle, -angle) / 7;
  const Tensor points = stack({radius * angle.cos(), radius * angle.sin()}, 1);
  return data::make_dataset<data::TensorDataset>(NamedTensors{{"point", points}, {"label", label}});
}

int main(int argc, char** argv) try {
  aorta::init(argc, argv);
  const int64_t epochs = argc > 1 ? std::stoll(argv[1]) : 20;
  const std::string path = argc > 2 ? argv[2] : "run.safetensors";
  const int64_t stop = argc > 3 ? std::stoll(argv[3]) : -1;

  manual_seed(0);
  nn::Sequential net{nn::Linear(2, 64),  nn::Tanh(), nn::Dropout(0.1),
                     nn::Linear(64, 64), nn::Tanh(), nn::Linear(64, 2)};
  optim::AdamW optimizer(net.parameters(), {.lr = 1e-2});
  data::DataLoader loader(spirals(), {.batch_size = 50, .shuffle = true, .seed = 0});
  optim::CosineAnnealingLR schedule(optimizer, {.T_max = epochs * loader.size()});
  int64_t steps = 0;
  double total = 0;  // of the losses of this epoch

  // All that the next step depends on.
  const auto save_all = [&] {
    State state;
    state.add("net.", net.state_dict());
    state.add("optimizer.", optimizer.state_dict());
    state.add("schedule.", schedule.state_dict());
    state.add("loader.", loader.state());
    state.set("random", get_rng_state());  // dropout's
    state.set("steps", steps);
    state.set("total", total);
    state.save(path, /*keep_previous=*/1);
  };
  if (std::filesystem::exists(path)) {
    const State state = State::load(path);
    net.load_state_dict(state.with_prefix("net."));
    optimizer.load_state_dict(state.with_prefix("optimizer."));
    schedule.load_state_dict(state.with_prefix("schedule."));
    loader.restore(state.with_prefix("loader."));
    set_rng_state(state.tensor("random"));
    steps = state.get<int64_t>("steps");
    total = state.get<double>("total");
    std::cout << "going on after step " << steps << "\n";
  }

  while (steps < epochs * loader.size()) {
    for (const auto& batch : loader) {
      optimizer.zero_grad();
      const Tensor loss = nn::cross_entropy(net(batch["point"]), batch["label"]);
      loss.backward();
      optimizer.step();
      schedule.step();
      total += loss.item();
      if (++steps % 7 == 0) save_all();
      if (steps == stop) return 0;  // as if it were killed: up to six steps are lost
    }
    std::cout << "epoch " << steps / loader.size() << ": loss " << total / loader.size() << "\n";
    total = 0;
  }
  save_all();
} catch (const Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
