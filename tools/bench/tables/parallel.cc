// Steps whose batch is divided: among devices by DataParallel, and among processes by
// DistributedDataParallel and fully_shard, against one device or process, and PyTorch's by gloo.
#include <aorta/core/parallel_for.h>
#include <aorta/nn/parallel/data_parallel.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/steps.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

namespace aorta::bench {
namespace {

// A loss over two halves, whose norms have seen a half each, is another number than one over all.
Side unchecked(std::string name, Side side) {
  side.name = std::move(name);
  side.values = {};
  return side;
}

Side on_one_device(Training training, int threads) {
  training.begin(true);
  Side side = unchecked(fmt::format("one of {} threads", threads),
                        aorta_side([training] { return training.step(); }));
  side.run = [threads, run = side.run](int64_t repetitions) {
    const int before = get_num_threads();
    set_num_threads(threads);
    const double seconds = run(repetitions);
    set_num_threads(before);
    return seconds;
  };
  return side;
}

Side on_two_devices(Training training) {
  training.module->to(MemoryFormat::channels_last);
  const auto module = std::make_shared<nn::AnyModule>(training.module);
  const auto parallel =
      std::make_shared<nn::DataParallel<nn::AnyModule>>(*module, List<Device>{"cpu:0", "cpu:1"});
  training.forward = [module, parallel](const Tensor& x) { return (*parallel)(x); };
  training.begin(true);
  return unchecked("Aorta", aorta_side([training] { return training.step(); }));
}

Row devices_row(const Plan& plan, int threads, double target) {
  const int64_t batch = plan.size(8, 4), size = plan.size(112, 32);
  return {.name = fmt::format("DataParallel on cpu:0 and cpu:1, a thread each, DeepLabV3-ResNet50, "
                              "{0}x{0}, batch {1}; one of {2} threads",
                              size, batch, threads),
          .threads = 2,
          .target = at_most(target),
          .make = [=] {
            return Case{.ours = on_two_devices(deeplab_training(batch, size, false)),
                        .reference = on_one_device(deeplab_training(batch, size, false), threads)};
          }};
}

struct Step {
  std::string text, name;  // for people, and for rank.cc
  TorchTraining torch;
  double against_torch;
};

std::vector<Step> steps_of(const Plan& plan) {
  const int64_t batch = plan.size(8, 4), size = plan.size(112, 32), sequences = plan.size(32, 2),
                length = plan.size(64, 8), width = plan.size(128, 16);
  return {{fmt::format("DeepLabV3-ResNet50, {0}x{0}, batch {1}", size, batch),
           fmt::format("deeplab {} {}", batch, size), torch_deeplab(batch, size, false), 0.6},
          {"784-30-10 with sigmoids, batch 10", "mlp 30", torch_mlp(30), 0.3},
          {fmt::format("char-GPT, 2 layers of {}, {} x {}", width, sequences, length),
           fmt::format("char_gpt {} {} {}", sequences, length, width),
           torch_char_gpt(sequences, length, width), 0.65}};
}

// All of the network on each process, or its parameters divided among them.
Row torch_row(const Step& step, bool sharded = false) {
  return {.name = std::string("2 processes, a thread each, ") + (sharded ? "sharded, " : "") +
                  step.text,
          .target = at_most(step.against_torch),
          .tolerance = 1e-3,
          .make = [step, sharded] {
            TorchTraining torch = step.torch;
            (sharded ? torch.sharded : torch.distributed) = true;
            return Case{.ours = ranks_side("Aorta", 2, (sharded ? "sharded " : "") + step.name),
                        .reference = torch_ranks_side(2, torch_setup(torch), "step()")};
          }};
}

Row processes_row(const Step& step, Target target) {
  return {.name = "2 processes, a thread each, " + step.text + "; one process",
          .target = target,
          .make = [step] {
            return Case{.ours = ranks_side("Aorta", 2, step.name, false),
                        .reference = ranks_side("one process", 1, step.name, false)};
          }};
}

// What their exchange adds.
Row parts_row(const Step& step) {
  return {.name = "2 processes, a thread each, " + step.text + "; one with half of the batch",
          .make = [step] {
            return Case{.ours = ranks_side("Aorta", 2, step.name, false),
                        .reference = ranks_side("one, half", 1, "part 2 " + step.name, false)};
          }};
}

Row waits_row(const Step& step, Target target) {
  constexpr double kMost = 5;
  return {.name = "2 processes, a thread each, " + step.text + ", waiting for the other; 5 %",
          .unit = Unit::percent,
          .target = target,
          .make =
              [step] {
                return Case{.ours = ranks_waits_side(2, step.name),
                            .reference = {.name = "5 %", .run = [](int64_t repetitions) {
                                            return kMost * static_cast<double>(repetitions);
                                          }}};
              },
          .rounds = 3};
}

Row all_reduce_row(int64_t kilobytes) {
  const int64_t elements = kilobytes * 256;
  return {.name = fmt::format("2 processes, all_reduce of {} KB", kilobytes),
          .unit = Unit::bytes,
          .work = static_cast<double>(4 * elements),
          .make = [elements] {
            return Case{
                .ours = ranks_side("Aorta", 2, fmt::format("all_reduce {}", elements)),
                .reference = torch_ranks_side(
                    2,
                    fmt::format("d = torch.distributed; t = make(({},), -1, 1, d.get_rank())",
                                elements),
                    "(d.all_reduce(t, d.ReduceOp.MAX), t)[1]")};
          }};
}

// A tensor to the other process and back. With its gradient PyTorch's processes may wait for each
// other for ever.
Row call_row(int64_t kilobytes) {
  const int64_t elements = kilobytes * 256;
  return {.name = fmt::format("2 processes, a call of each with {} KB", kilobytes),
          .target = at_most(1),
          .make = [elements] {
            return Case{
                .ours = ranks_side("Aorta", 2, fmt::format("rpc {}", elements)),
                .reference = torch_ranks_side(
                    2, fmt::format("import programs; step = programs.remote_call({})", elements),
                    "step()")};
          }};
}

// From the start of mpirun to the end of the first step.
Row start_row() {
  return {.name = "start of 4 processes to the first step of 784-30-10; 1 s",
          .target = at_most(1),
          .make =
              [] {
                const auto start = [](int64_t repetitions) {
                  const double begin = seconds_now();
                  for (int64_t i = 0; i < repetitions; ++i) {
                    const Side ranks = ranks_side("Aorta", 4, "mlp 30", false);
                    check(bool(ranks.run), "parallel", "ranks must start", ranks.missing);
                    ranks.run(1);
                  }
                  return seconds_now() - begin;
                };
                const Side probe = ranks_side("Aorta", 4, "mlp 30", false);
                Side ours{.name = "Aorta", .missing = probe.missing};
                if (probe.run) ours.run = start;
                return Case{.ours = ours,
                            .reference = {.name = "1 s", .run = [](int64_t repetitions) {
                                            return static_cast<double>(repetitions);
                                          }}};
              },
          .rounds = 3};
}

}  // namespace

Rows parallel_rows(const Plan& plan) {
  Rows rows{devices_row(plan, 1, 1 / 1.7), devices_row(plan, 2, 1.1)};
  const std::vector<Step> steps = steps_of(plan);
  rows.push_back(processes_row(steps[0], at_most(1 / 1.7)));
  for (size_t i = 1; i < steps.size(); ++i) rows.push_back(processes_row(steps[i], {}));
  for (const Step& step : steps) rows.push_back(parts_row(step));
  for (size_t i = 0; i < steps.size(); ++i)
    rows.push_back(waits_row(steps[i], i == 0 ? at_most(1) : Target{}));
  for (const Step& step : steps) rows.push_back(torch_row(step));
  rows.push_back(torch_row(steps.back(), /*sharded=*/true));
  for (const int64_t kilobytes : {4, 256, 4096, 65536})
    rows.push_back(all_reduce_row(plan.size(kilobytes, 4)));
  for (const int64_t kilobytes : {1, 4096, 65536})
    rows.push_back(call_row(plan.size(kilobytes, 1)));
  rows.push_back(start_row());
  return rows;
}

}  // namespace aorta::bench
