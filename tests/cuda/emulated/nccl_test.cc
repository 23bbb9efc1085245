// Collectives between GPUs by the double of NCCL, in one program with it: ranks are threads, each
// with a device of its own.
#include <aorta/core/backends.h>
#include <aorta/core/clock.h>
#include <aorta/core/comm.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/cuda/nccl.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/loss.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/parallel/distributed_data_parallel.h>
#include <aorta/nn/parallel/sync_batch_norm.h>
#include <aorta/optim/sgd.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/collectives.h>
#include <aorta/tests/cuda/emulated/sanitizer.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/stream.h>
#include <aorta/tests/nn/parallel/ranks.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <vector>

extern "C" const char* aorta_register_cuda();

namespace aorta {
namespace {

using emulated::Mode;

// The thread sanitizer needs a thread for each stream.
std::vector<Mode> modes() {
  if (emulated::under_thread_sanitizer()) return {Mode::threads};
  return {Mode::lazy, Mode::eager, Mode::random, Mode::threads};
}

constexpr DType kDTypes[] = {f32, f64, f16, bf16, i64, i32, u8, boolean, c64};
constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::mean, ReduceOp::min, ReduceOp::max};
constexpr CommOptions kPatient{.timeout = 60};

Device device_of(const Communicator& end) { return Device(DeviceType::cuda, end.rank()); }

DeviceBackend& gpu() { return backend(DeviceType::cuda); }

class CudaNccl : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(aorta_register_cuda(), nullptr); }
  void SetUp() override {
    emulated::Streams::get().set_mode(modes()[0]);
    for (int device = 0; device < 3; ++device)
      in_use_.push_back(gpu().memory_stats(device).bytes_in_use);
  }
  // Nothing stays: neither memory nor communicators, which end when all ranks have left.
  void TearDown() override {
    emulated::inject_nothing();
    backends::nccl::set_enabled(true);
    wait_until_all_have_left();
    for (int device = 0; device < 3; ++device)
      EXPECT_EQ(gpu().memory_stats(device).bytes_in_use, in_use_[static_cast<size_t>(device)]);
  }
  static void wait_until_all_have_left() {
    const double start = seconds_now();
    while (emulated::living_communicators() > 0 && seconds_now() - start < 20)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(emulated::living_communicators(), 0);
  }

 private:
  std::vector<int64_t> in_use_;
};

// Whole numbers: a rank's own, small enough for every dtype's sums.
std::vector<double> numbers_of(int rank, int64_t count, DType dtype) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>((rank * 7 + i * 3) % 11);
    values.push_back(dtype == boolean ? value > 5 : value);
  }
  return values;
}

Tensor of_rank(int rank, const Shape& shape, DType dtype) {
  return tensor(numbers_of(rank, shape.numel(), dtype)).view(shape).to(dtype);
}

// What ranks' numbers become, one by one.
std::vector<double> reduced(int ranks, int64_t count, DType dtype, ReduceOp op) {
  std::vector<double> result = numbers_of(0, count, dtype);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::vector<double> other = numbers_of(rank, count, dtype);
    for (size_t i = 0; i < result.size(); ++i) {
      if (op == ReduceOp::min) {
        result[i] = std::min(result[i], other[i]);
      } else if (op == ReduceOp::max || dtype == boolean) {
        result[i] = std::max(result[i], other[i]);
      } else {
        result[i] += other[i];
      }
    }
  }
  if (op == ReduceOp::mean) {
    for (double& value : result) value /= ranks;
    result = tensor(result).to(real_dtype(dtype)).to_vector<double>();  // rounded to the dtype
  }
  return result;
}

void each_of(Communicator& end, DType dtype) {
  const int size = end.size(), rank = end.rank();
  const Device device = device_of(end);
  const auto values = [](const Tensor& x) { return real(x).to_vector<double>(); };
  for (const ReduceOp op : kOps) {
    if (op == ReduceOp::mean && !is_floating(dtype) && !is_complex(dtype)) continue;
    if ((op == ReduceOp::min || op == ReduceOp::max) && is_complex(dtype)) continue;
    SCOPED_TRACE(to_string(dtype) + ", " + to_string(op));
    const Tensor x = of_rank(rank, {2, 3}, dtype).to(device);
    end.all_reduce(x, op);
    EXPECT_EQ(values(x), reduced(size, 6, dtype, op));
    const Tensor whole = of_rank(rank, {2 * size, 2}, dtype).to(device);
    const std::vector<double> all = reduced(size, 4 * size, dtype, op);
    EXPECT_EQ(values(end.reduce_scatter(whole, op)),
              std::vector<double>(all.begin() + 4 * rank, all.begin() + 4 * (rank + 1)));
  }
  for (int root = 0; root < size; ++root) {
    const Tensor x = of_rank(rank, {5}, dtype).to(device);
    end.broadcast(x, root);
    EXPECT_EQ(values(x), numbers_of(root, 5, dtype));
  }
  const std::vector<double> all = values(end.all_gather(of_rank(rank, {1, 3}, dtype).to(device)));
  std::vector<double> wanted;
  for (int other = 0; other < size; ++other)
    for (const double value : numbers_of(other, 3, dtype)) wanted.push_back(value);
  EXPECT_EQ(all, wanted);
  EXPECT_EQ(end.records().back().engine, "NCCL");
}

struct Net : nn::Module {
  nn::Linear first{*this, "first", 4, 6};
  nn::BatchNorm1d norm{*this, "norm", 6};
  nn::Linear second{*this, "second", 6, 3};
  Tensor forward(const Tensor& x) const override { return second(tanh(norm(first(x)))); }
};

constexpr int kSteps = 4;

template <class Call>
std::vector<double> losses_of(const Call& net, const nn::Module& module, const Tensor& x,
                              const Tensor& y) {
  optim::SGD optimizer(module.parameters(), {.lr = 0.1, .momentum = 0.9});
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    optimizer.zero_grad();
    const Tensor loss = nn::mse_loss(net(x), y);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

Net net_of(uint64_t seed) {
  Generator random(seed);
  const DefaultGeneratorScope scope(random);
  Net net;
  net.to(f64);
  return net;
}

// The rule and the time of an end that ranks didn't come to.
void ends_within(double seconds, const std::function<void()>& work) {
  const double start = seconds_now();
  work();
  EXPECT_LT(seconds_now() - start, seconds);
}

}  // namespace

TEST_F(CudaNccl, IsThere) {
  EXPECT_TRUE(backends::nccl::is_available());
  EXPECT_EQ(backends::nccl::version(), 22809);
  EXPECT_EQ(backends::nccl::unavailable_reason(), "");
}

TEST_F(CudaNccl, IsNotTakenWhereItIsIncompleteOrOld) {
  struct Fake {
    int version;
    std::string missing;
  };
  const auto problem = [](Fake fake) {
    static int version;
    version = fake.version;
    const auto address = [](void* context, const char* name) -> void* {
      if (name == static_cast<Fake*>(context)->missing) return nullptr;
      ncclResult_t (*get)(int*) = [](int* out) {
        *out = version;
        return ncclSuccess;
      };
      return reinterpret_cast<void*>(get);
    };
    return cuda::find_nccl({"libnccl.so.2", address, &fake}).state.problem;
  };
  EXPECT_EQ(problem({22809, ""}), "");
  EXPECT_EQ(problem({21805, ""}), "NCCL 2.18.5 is too old: 2.27.0 is needed");
  EXPECT_EQ(problem({22809, "ncclCommFinalize"}), "libnccl.so.2 has no ncclCommFinalize");
  EXPECT_EQ(problem({0, ""}), "libnccl.so.2 doesn't tell its version");
}

TEST_F(CudaNccl, EachCollectiveOfEveryDtype) {
  for (const Mode mode : modes()) {
    emulated::Streams::get().set_mode(mode);
    for (const int size : {1, 2, 3}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(mode)) + ", " + std::to_string(size));
      const auto errors = on_ranks(size, kPatient, [](Communicator& end) {
        for (const DType dtype : kDTypes) each_of(end, dtype);
      });
      EXPECT_EQ(errors, no_errors(size));
    }
  }
}

TEST_F(CudaNccl, LayoutsAndEmptyTensors) {
  const auto errors = on_ranks(3, kPatient, [](Communicator& end) {
    const Device device = device_of(end);
    // In memory another order on odd ranks.
    Tensor x = of_rank(0, {2, 3}, f32).to(device);
    if (end.rank() == 1) x = x.t().contiguous().t();
    end.all_reduce(x);
    EXPECT_EQ(x.to_vector<double>(), (mul(of_rank(0, {2, 3}, f32), 3)).to_vector<double>());
    const Tensor base = zeros({4, 4}, {.device = device});
    const Tensor corner = base.narrow(0, 0, 2).narrow(1, 0, 2);
    corner.fill_(end.rank() + 1);
    const uint32_t version = base.version();
    end.broadcast(corner, 1);
    EXPECT_EQ(base[0].to_vector<double>(), (std::vector<double>{2, 2, 0, 0}));
    EXPECT_EQ(base.version() > version, end.rank() != 1);
    const Tensor nothing = zeros({0, 3}, {.device = device});
    end.all_reduce(nothing);
    EXPECT_EQ(end.all_gather(nothing).shape(), (Shape{0, 3}));
    EXPECT_EQ(end.reduce_scatter(nothing).shape(), (Shape{0, 3}));
    EXPECT_EQ(end.all_gather(full({}, 1.0 + end.rank(), {.device = device})).to_vector<double>(),
              (std::vector<double>{1, 2, 3}));
  });
  EXPECT_EQ(errors, no_errors(3));
}

// What stands before a call in the program comes before it, what stands behind it after; on
// whichever stream. And nobody waits.
TEST_F(CudaNccl, StandsInTheOrderOfTheProgram) {
  for (const Mode mode : modes()) {
    emulated::Streams::get().set_mode(mode);
    const int waits = emulated::calls_of("cudaStreamSynchronize");
    std::vector<Tensor> results(3);
    const auto errors = on_ranks(3, kPatient, [&](Communicator& end) {
      const Device device = device_of(end);
      const Stream side = gpu().create_stream(device.index);
      gpu().set_current_stream(side);
      Tensor x = full({1000}, end.rank() + 1.0, {.device = device});
      for (int i = 0; i < 3; ++i) {
        end.all_reduce(x);
        x = x - 1;  // what was in x is given back, while it is still to be sent
        full({1000}, -1.0, {.device = device});
      }
      results[static_cast<size_t>(end.rank())] = x;
      gpu().destroy_stream(side);
    });
    EXPECT_EQ(errors, no_errors(3));
    EXPECT_EQ(emulated::calls_of("cudaStreamSynchronize"), waits);
    wait_until_all_have_left();  // none before the others have what they need of it
    for (int device = 0; device < 3; ++device) synchronize(Device(DeviceType::cuda, device));
    for (const Tensor& result : results)
      EXPECT_EQ(result.to_vector<double>(), std::vector<double>(1000, ((6 - 1) * 3 - 1) * 3 - 1));
  }
}

// Two groups of the same devices, called by two threads at once, get one order on all ranks.
TEST_F(CudaNccl, DuplicatesTakeTurns) {
  for (const Mode mode : modes()) {
    emulated::Streams::get().set_mode(mode);
    const auto errors = on_ranks(3, kPatient, [](Communicator& end) {
      const std::unique_ptr<Communicator> other = end.duplicate(), third = other->duplicate();
      std::vector<std::string> failures(3);
      const auto work = [&](Communicator& group, int64_t count, std::string& failure) {
        failure = error_of([&] {
          for (int i = 0; i < 10; ++i) {
            const Tensor x = full({count}, end.rank() + 1.0, {.device = device_of(end)});
            group.all_reduce(x);
            EXPECT_EQ(x.to_vector<double>(), std::vector<double>(static_cast<size_t>(count), 6));
          }
        });
      };
      std::thread first([&] { work(*other, 5, failures[0]); });
      std::thread second([&] { work(*third, 6, failures[1]); });
      work(end, 7, failures[2]);
      first.join();
      second.join();
      for (const std::string& failure : failures) EXPECT_EQ(failure, kNoError);
    });
    EXPECT_EQ(errors, no_errors(3));
  }
}

TEST_F(CudaNccl, TrainsAsOneDeviceDoes) {
  Generator random(11);
  const Tensor x = randn({6, 4}, {.dtype = f64}, &random);
  const Tensor y = randn({6, 3}, {.dtype = f64}, &random);
  Net whole = net_of(0);
  const std::vector<double> wanted = losses_of(whole, whole, x, y);
  for (const Mode mode : modes()) {
    emulated::Streams::get().set_mode(mode);
    for (const int size : {1, 2, 3}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(mode)) + ", " + std::to_string(size));
      std::vector<std::vector<double>> losses(3), weights(3);
      const auto errors = on_ranks(size, kPatient, [&](Communicator& end) {
        const Device device = device_of(end);
        const DeviceGuard guard(device);
        Net net = net_of(static_cast<uint64_t>(end.rank()));  // rank 0's is taken
        nn::convert_sync_batchnorm(net);
        net.to(device);
        // A bucket a parameter; and one of all.
        const nn::DistributedDataParallel parallel(
            net, end,
            {.bucket_cap_mb = size == 2 ? 25 : 1e-9, .find_unused_parameters = size == 3});
        const int64_t part = 6 / size;
        const auto mine = [&](const Tensor& all) {
          return all.narrow(0, part * end.rank(), part).to(device);
        };
        const auto rank = static_cast<size_t>(end.rank());
        losses[rank] = losses_of(parallel, net, mine(x), mine(y));
        weights[rank] = net.second.weight.to_vector<double>();
        const std::vector<CollectiveRecord> records = end.records();
        EXPECT_TRUE(std::any_of(records.begin(), records.end(), [](const CollectiveRecord& record) {
          return record.engine == "NCCL";
        }));
      });
      EXPECT_EQ(errors, no_errors(size));
      for (int step = 0; step < kSteps; ++step) {
        double mean = 0;
        for (int rank = 0; rank < size; ++rank)
          mean += losses[static_cast<size_t>(rank)][static_cast<size_t>(step)] / size;
        EXPECT_NEAR(mean, wanted[static_cast<size_t>(step)], 1e-12) << step;
      }
      for (int rank = 1; rank < size; ++rank)
        EXPECT_EQ(weights[static_cast<size_t>(rank)], weights[0]);
      const std::vector<double> of_whole = whole.second.weight.to_vector<double>();
      for (size_t i = 0; i < of_whole.size(); ++i) EXPECT_NEAR(weights[0][i], of_whole[i], 1e-12);
    }
  }
}

// Where not every rank has a GPU of its own, and NCCL, tensors go the group's own way.
TEST_F(CudaNccl, GoesByTheCpuWhereItMust) {
  const auto engine = [](const std::function<Device(const Communicator&)>& place,
                         const CommOptions& options) {
    std::vector<std::string> engines(2);
    const auto errors = on_ranks(2, options, [&](Communicator& end) {
      const Tensor x = full({3}, end.rank() + 1.0, {.device = place(end)});
      end.all_reduce(x);
      EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{3, 3, 3}));
      engines[static_cast<size_t>(end.rank())] = end.records().back().engine;
    });
    EXPECT_EQ(errors, no_errors(2));
    return engines[1];
  };
  const auto same = [](const Communicator&) { return Device("cuda:0"); };
  const auto mixed = [](const Communicator& end) { return Device(end.rank() ? "cuda:0" : "cpu"); };
  EXPECT_EQ(engine(device_of, kPatient), "NCCL");
  EXPECT_EQ(engine(same, kPatient), "the CPU, for rank 0 and rank 1 have one GPU");
  EXPECT_EQ(engine(mixed, kPatient), "the CPU, for rank 0's tensor lies on the CPU");
  EXPECT_EQ(engine([](const Communicator&) { return Device("cpu"); }, kPatient), "");
  EXPECT_EQ(engine(device_of, {.timeout = 60, .by_device = false}),
            "the CPU, for the group was made for that");
  backends::nccl::set_enabled(false);
  EXPECT_EQ(engine(device_of, kPatient), "the CPU, for rank 0: NCCL is switched off");
}

TEST_F(CudaNccl, WhatDiffersIsNamed) {
  const auto errors = on_ranks(2, kPatient, [](Communicator& end) {
    end.all_reduce(zeros({4}, {.device = device_of(end)}));
    end.all_reduce(zeros({4, end.rank() + 1}, {.device = device_of(end)}));
  });
  for (const std::string& error : errors)
    EXPECT_EQ(error,
              "all_reduce: ranks must make the same call, got rank 0: all_reduce 1 of f32 [4,1], "
              "sum; rank 1: all_reduce 1 of f32 [4,2], sum");
}

TEST_F(CudaNccl, WhoNeverComesIsNamed) {
  for (const Mode mode : modes()) {
    emulated::Streams::get().set_mode(mode);
    ends_within(5, [] {
      const auto errors = on_ranks(3, {.timeout = 0.3}, [](Communicator& end) {
        end.all_reduce(zeros({2}, {.device = device_of(end)}));
        if (end.rank() == 1) {
          while (end.failure().empty()) std::this_thread::yield();
        } else {
          end.all_reduce(zeros({2}, {.device = device_of(end)}));
        }
      });
      for (const size_t rank : {0, 2})
        EXPECT_TRUE(
            errors[rank].starts_with("collective: every rank must come within 0.3 s, got "
                                     "none of rank 1 (its last call: all_reduce 0 of f32 "
                                     "[2], sum, 8 bytes, by NCCL, took"))
            << errors[rank];
    });
  }
}

TEST_F(CudaNccl, WhoFailsEndsAll) {
  ends_within(5, [] {
    const auto errors = on_ranks(3, kPatient, [](Communicator& end) {
      const Tensor x = zeros({2}, {.device = device_of(end)});
      end.all_reduce(x);
      if (end.rank() == 2) end.abort("rank 2: its disk is full");
      for (;;) end.all_reduce(x);
    });
    for (const std::string& error : errors) EXPECT_EQ(error, "rank 2: its disk is full");
  });
}

// One whose call of NCCL fails says so; the others wait in NCCL until it ends the group, or the
// time is over.
TEST_F(CudaNccl, ACallOfNcclThatFails) {
  for (const bool tells : {true, false}) {
    emulated::inject("ncclAllReduce", 2, cudaErrorLaunchFailure);
    ends_within(5, [&] {
      const auto errors = on_ranks(3, {.timeout = tells ? 60 : 0.5}, [&](Communicator& end) {
        const Tensor x = zeros({2}, {.device = device_of(end)});
        const std::string text = error_of([&] { end.all_reduce(x); });
        const bool is_own = text.ends_with("unhandled cuda error");
        if (tells && is_own) end.abort("rank N: " + text);
        if (tells || !is_own) {
          EXPECT_NE(error_of([&] { end.all_reduce(x); }), kNoError);
        }
        throw Error(text);
      });
      std::set<std::string> texts(errors.begin(), errors.end());
      const std::string failed =
          "all_reduce 0 of f32 [2], sum: NCCL must take it, got unhandled cuda error";
      EXPECT_EQ(texts.count(failed), 1u);
      texts.erase(failed);
      ASSERT_EQ(texts.size(), 1u);
      EXPECT_EQ(*texts.begin(),
                tells ? "rank N: " + failed
                      : "all_reduce 0 of f32 [2], sum: NCCL must take it within 0.5 s, got no end "
                        "of it, though every rank has called it");
    });
  }
}

TEST_F(CudaNccl, ARankThatCannotBegin) {
  emulated::inject("ncclGetUniqueId", 1, cudaErrorLaunchFailure);
  const auto errors = on_ranks(2, kPatient, [](Communicator& end) {
    end.all_reduce(zeros({2}, {.device = device_of(end)}));
  });
  for (const std::string& error : errors)
    EXPECT_EQ(error, "Communicator: NCCL must make an id, got unhandled cuda error");
  emulated::inject("ncclCommInitRankConfig", 2, cudaErrorLaunchFailure);
  std::vector<std::string> texts = on_ranks(2, {.timeout = 0.5}, [](Communicator& end) {
    end.all_reduce(zeros({2}, {.device = device_of(end)}));
  });
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(texts[0],
            "all_reduce 0 of f32 [2], sum: NCCL must begin within 0.5 s, got no end of "
            "it, though every rank has called it");
  EXPECT_EQ(texts[1], "all_reduce 0 of f32 [2], sum: NCCL must begin, got unhandled cuda error");
}

// Work that is queued and never ends holds whoever waits for the device, until the time is over.
TEST_F(CudaNccl, ANetworkThatIsGone) {
  if (emulated::under_thread_sanitizer()) GTEST_SKIP() << "what is aborted has any order";
  emulated::Streams::get().set_mode(Mode::threads);
  for (const bool is_told : {false, true}) {
    emulated::stall(true);
    ends_within(5, [&] {
      const auto errors = on_ranks(3, {.timeout = is_told ? 60 : 0.5}, [&](Communicator& end) {
        const Tensor x = ones({2}, {.device = device_of(end)});
        end.all_reduce(x);  // it is queued, and the host goes on
        if (is_told && end.rank() == 1) end.abort("rank 1: it gives up");
        synchronize(device_of(end));
        end.barrier();
      });
      for (const std::string& error : errors)
        EXPECT_EQ(error, is_told ? "rank 1: it gives up"
                                 : "all_reduce 0 of f32 [2], sum: NCCL must do it within 0.5 s, "
                                   "got no end of it, though every rank has queued it");
    });
    emulated::stall(false);
  }
}

// Each call of CUDA fails in turn, on one rank: it throws one line, and what is freed then is given
// out again only when NCCL is done with it.
TEST_F(CudaNccl, CallsOfCudaThatFail) {
  for (const Mode mode : modes()) {
    emulated::Streams::get().set_mode(mode);
    for (const char* name : {"cudaEventRecord", "cudaStreamWaitEvent", "cudaStreamIsCapturing"}) {
      for (int nth = 1; nth <= 6; ++nth) {
        SCOPED_TRACE(std::string(name) + ", " + std::to_string(nth));
        int calls = 0;
        const auto errors = on_ranks(3, kPatient, [&](Communicator& end) {
          const Device device = device_of(end);
          {
            const Tensor first = ones({1000}, {.device = device});
            end.all_reduce(first);
            EXPECT_EQ(first.to_vector<double>(), std::vector<double>(1000, 3));
          }
          end.barrier();
          if (end.rank() == 0) emulated::inject(name, nth, cudaErrorLaunchFailure);
          end.barrier();
          std::string text;
          {
            const Tensor x = ones({1000}, {.device = device});
            text = error_of([&] { end.all_reduce(x); });
            if (text != kNoError) end.abort(text);
          }
          const Tensor next = full({1000}, 5.0, {.device = device});
          EXPECT_EQ(next.to_vector<double>(), std::vector<double>(1000, 5));
          synchronize(device);  // NCCL's stream too
          EXPECT_EQ(next.to_vector<double>(), std::vector<double>(1000, 5));
          if (text != kNoError) throw Error(text);
        });
        calls = emulated::calls_of(name);
        emulated::inject_nothing();
        for (const std::string& error : errors) {
          EXPECT_TRUE(error == kNoError ||
                      error.ends_with("CUDA must succeed, got cudaErrorLaunchFailure (unspecified "
                                      "launch failure)"))
              << error;
        }
        if (calls >= nth) {
          EXPECT_NE(errors, no_errors(3));
        }
      }
    }
  }
}

// While work is queued a thread of the rank's looks after it: that ends no capture of the program.
TEST_F(CudaNccl, ACaptureGoesOnWhileWorkIsQueued) {
  if (emulated::under_thread_sanitizer()) GTEST_SKIP() << "what is aborted has any order";
  emulated::Streams::get().set_mode(Mode::threads);
  emulated::stall(true);
  const auto errors = on_ranks(1, kPatient, [](Communicator& end) {
    const Tensor x = ones({2}, {.device = device_of(end)});
    end.all_reduce(x);
    const Stream side = gpu().create_stream(0);
    const auto stream = static_cast<cudaStream_t>(side.handle);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    if (graph) cudaGraphDestroy(graph);
    emulated::stall(false);
    EXPECT_EQ(x.to_vector<double>(), std::vector<double>(2, 1));
    gpu().destroy_stream(side);
  });
  emulated::stall(false);
  EXPECT_EQ(errors, no_errors(1));
}

TEST_F(CudaNccl, IsNotCaptured) {
  const auto errors = on_ranks(1, kPatient, [](Communicator& end) {
    const Tensor x = ones({2}, {.device = device_of(end)});
    end.all_reduce(x);
    const auto stream = static_cast<cudaStream_t>(gpu().current_stream(0).handle);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    EXPECT_EQ(error_of([&] { end.all_reduce(x); }),
              "all_reduce 1 of f32 [2], sum: ranks agree on each collective, so none is in a "
              "graph, got a stream that is captured");
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    cudaGraphDestroy(graph);
  });
  EXPECT_EQ(errors, no_errors(1));
}

}  // namespace aorta
