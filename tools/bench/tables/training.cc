// Whole training steps on one device; what is compared is the loss of their first step.
#include <aorta/tools/bench/programs.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/steps.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

#include <memory>

namespace aorta::bench {
namespace {

Side ours(Training training, bool channels_last) {
  training.begin(channels_last);
  return aorta_side([training] { return training.step(); });
}

Row mlp_row(int64_t hidden, double target) {
  return {.name = fmt::format("784-{}-10 with sigmoids, batch 10, f32", hidden),
          .target = at_most(target),
          .make = [hidden] {
            return Case{.ours = ours(mlp_training(hidden), false),
                        .reference = libtorch_side(fmt::format("step {}", hidden))};
          }};
}

Row resnet_row(const Plan& plan, int threads, bool bf16) {
  const int64_t batch = plan.size(128, 2);
  return {.name = fmt::format("ResNet-18, 32x32, batch {}, {}", batch, bf16 ? "bf16" : "f32"),
          .threads = threads,
          .target = bf16 ? Target{} : at_most(0.75),
          .tolerance = bf16 ? 2e-2 : 1e-3,
          .make = [batch, bf16] {
            return Case{.ours = ours(resnet_training(batch, bf16), true),
                        .reference = torch_side(torch_setup(torch_resnet(batch, bf16)), "step()")};
          }};
}

Row deeplab_row(const Plan& plan, int threads, bool bf16) {
  const int64_t batch = plan.size(20, 2), size = plan.size(112, 32);
  return {.name = fmt::format("DeepLabV3-ResNet50, {0}x{0}, batch {1}, {2}", size, batch,
                              bf16 ? "bf16" : "f32"),
          .threads = threads,
          .target = at_most(bf16 ? 0.75 : 0.70),
          .tolerance = bf16 ? 2e-2 : 1e-3,
          .make = [batch, size, bf16] {
            return Case{
                .ours = ours(deeplab_training(batch, size, bf16), true),
                .reference = torch_side(torch_setup(torch_deeplab(batch, size, bf16)), "step()")};
          }};
}

Row unet_3d_row(const Plan& plan, int threads) {
  const int64_t batch = plan.size(4, 1), frames = plan.size(32, 16), size = plan.size(112, 32);
  return {.name = fmt::format("U-Net of clips, {0}x{1}x{1}, batch {2}, f32", frames, size, batch),
          .threads = threads,
          .target = at_most(0.6),
          .tolerance = 1e-3,
          .make = [batch, frames, size] {
            return Case{
                .ours = ours(unet_3d_training(batch, frames, size), true),
                .reference = torch_side(torch_setup(torch_unet_3d(batch, frames, size)), "step()")};
          }};
}

Row program_row(const Plan& plan, const Program& program, int threads, bool bf16) {
  const Sizes& sizes = plan.tiny ? program.tiny : program.sizes;
  std::string text = program.text;
  for (size_t i = 1; i < sizes.size(); ++i) {
    const std::string place = fmt::format("{{{}}}", i - 1);
    for (size_t at; (at = text.find(place)) != std::string::npos;)
      text.replace(at, place.size(), std::to_string(sizes[i]));
  }
  return {.name = fmt::format("{}, batch {}, {}", text, sizes[0], bf16 ? "bf16" : "f32"),
          .threads = threads,
          .target = at_most(bf16 ? program.bf16 : program.f32),
          .tolerance = bf16 ? 2e-2 : 1e-3,
          .make =
              [&program, &sizes, bf16] {
                const std::string setup = fmt::format(
                    "import os, sys; "
                    "sys.path.insert(0, os.path.dirname(os.path.realpath(sys.argv[0]))); "
                    "torch.set_grad_enabled(True); "
                    "import programs; step = programs.{}({}, bf16={})",
                    program.name, fmt::join(sizes, ", "), bf16 ? "True" : "False");
                return Case{.ours = aorta_side(program.make(sizes, bf16)),
                            .reference = torch_side(setup, "step()")};
              },
          .rounds = program.rounds};
}

}  // namespace

Rows training_rows(const Plan& plan) {
  Rows rows;
  rows.push_back(mlp_row(plan.size(30, 30), 0.25));
  rows.push_back(mlp_row(plan.size(80000, 100), 0.35));
  for (const int threads : plan.threads) {
    for (const bool bf16 : {false, true}) {
      rows.push_back(resnet_row(plan, threads, bf16));
      rows.push_back(deeplab_row(plan, threads, bf16));
    }
    rows.push_back(unet_3d_row(plan, threads));
    for (const Program& program : programs()) {
      if (program.one_thread && threads > 1) continue;
      for (const bool bf16 : {false, true}) {
        if ((bf16 ? program.bf16 : program.f32) > 0)
          rows.push_back(program_row(plan, program, threads, bf16));
      }
    }
  }
  return rows;
}

}  // namespace aorta::bench
