// Collectives between threads: values in every dtype, order of sums, what differs, who is late, and
// the records.
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/module_path.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/nn/parallel/ranks.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>

namespace aorta {
namespace {

constexpr DType kDTypes[] = {f32, f64, f16, bf16, i64, i32, u8, boolean};

// Whole numbers, the same in each dtype but bool: rank + 2 i, of 5 elements in 3 columns or less.
Tensor of_rank(int rank, const Shape& shape, DType dtype) {
  std::vector<double> values;
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(rank + 2 * i));
  return tensor(values).view(shape).to(dtype);
}

std::vector<double> values_of(const Tensor& tensor) { return tensor.to_vector<double>(); }

TEST(LocalComm, ReducesEveryDtype) {
  for (const int size : {1, 2, 3, 4}) {
    for (const DType dtype : kDTypes) {
      const auto errors = on_ranks(size, {}, [&](Communicator& end) {
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::min, ReduceOp::max}) {
          if (op == ReduceOp::mean && !is_floating(dtype)) continue;
          const Tensor x = of_rank(end.rank(), {2, 3}, dtype);
          end.all_reduce(x, op);
          const std::vector<double> found = values_of(x);
          for (int i = 0; i < 6; ++i) {
            const double first = 2.0 * i, last = first + size - 1;
            double wanted = op == ReduceOp::min ? first
                            : op == ReduceOp::max
                                ? last
                                : (first + last) / 2 * (op == ReduceOp::sum ? size : 1);
            if (dtype == boolean) wanted = op == ReduceOp::min ? first > 0 : last > 0;
            EXPECT_EQ(found[static_cast<size_t>(i)], wanted)
                << to_string(op) << " " << to_string(dtype) << " of " << size;
          }
        }
      });
      EXPECT_EQ(errors, no_errors(size)) << to_string(dtype);
    }
  }
}

TEST(LocalComm, MovesEveryDtype) {
  constexpr int kSize = 3;
  for (const DType dtype : kDTypes) {
    const auto errors = on_ranks(kSize, {}, [&](Communicator& end) {
      const Tensor x = of_rank(end.rank(), {2, 2}, dtype);
      end.broadcast(x, 2);
      EXPECT_EQ(values_of(x), values_of(of_rank(2, {2, 2}, dtype)));

      const Tensor all = end.all_gather(of_rank(end.rank(), {2, 2}, dtype));
      EXPECT_EQ(all.shape(), (Shape{6, 2}));
      for (int rank = 0; rank < kSize; ++rank)
        EXPECT_EQ(values_of(all.narrow(0, 2 * rank, 2)), values_of(of_rank(rank, {2, 2}, dtype)));
      const Tensor numbers = end.all_gather(of_rank(end.rank(), {}, dtype));
      EXPECT_EQ(numbers.shape(), (Shape{kSize}));

      const Tensor part = end.reduce_scatter(of_rank(end.rank(), {6, 2}, dtype), ReduceOp::max);
      EXPECT_EQ(part.shape(), (Shape{2, 2}));
      EXPECT_EQ(values_of(part), values_of(of_rank(2, {6, 2}, dtype).narrow(0, 2 * end.rank(), 2)));
      end.barrier();
    });
    EXPECT_EQ(errors, no_errors(kSize)) << to_string(dtype);
  }
}

TEST(LocalComm, ComplexNumbersAreTheirParts) {
  for (const DType dtype : {c64, c128}) {
    const auto errors = on_ranks(2, {}, [&](Communicator& end) {
      const auto numbers = [&](int rank) {
        return complex(of_rank(rank, {4, 2}, real_dtype(dtype)),
                       of_rank(10 * rank + 1, {4, 2}, real_dtype(dtype)));
      };
      const Tensor mine = numbers(end.rank()), sums = numbers(0) + numbers(1);
      const Tensor sum = mine.clone(), mean = mine.t().clone().t(), second = mine.clone();
      end.all_reduce(sum);
      end.all_reduce(mean, ReduceOp::mean);
      end.broadcast(second, 1);
      EXPECT_TRUE(equal(sum, sums));
      EXPECT_TRUE(equal(mean, sums * 0.5));
      EXPECT_TRUE(equal(second, numbers(1)));
      EXPECT_TRUE(equal(end.all_gather(mine), cat({numbers(0), numbers(1)}, 0)));
      EXPECT_TRUE(equal(end.reduce_scatter(mine), sums.narrow(0, 2 * end.rank(), 2)));
      EXPECT_EQ(error_of([&] { end.all_reduce(sum, ReduceOp::max); }),
                "all_reduce: complex numbers have no order, got max");
    });
    EXPECT_EQ(errors, no_errors(2)) << to_string(dtype);
  }
}

TEST(LocalComm, LayoutsAndEmptyTensors) {
  const auto errors = on_ranks(2, {}, [](Communicator& end) {
    // Each rank has its elements in another order of memory.
    Tensor x = of_rank(end.rank(), {2, 3}, f32);
    if (end.rank() == 1) x = x.t().contiguous().t();
    end.all_reduce(x);
    EXPECT_EQ(values_of(x), (std::vector<double>{1, 5, 9, 13, 17, 21}));
    const Tensor base = zeros({4, 4});
    const Tensor corner = base.narrow(0, 0, 2).narrow(1, 0, 2);
    corner.fill_(end.rank() + 1);
    end.broadcast(corner, 1);
    EXPECT_EQ(values_of(base[0]), (std::vector<double>{2, 2, 0, 0}));
    const Tensor nothing = zeros({0, 3});
    end.all_reduce(nothing);
    EXPECT_EQ(end.all_gather(nothing).shape(), (Shape{0, 3}));
    EXPECT_EQ(end.reduce_scatter(nothing).shape(), (Shape{0, 3}));
  });
  EXPECT_EQ(errors, no_errors(2));
}

// Dense ones in any order of memory, others, empty ones and numbers, as all_reduce does each.
TEST(LocalComm, ReducesSeveralTensorsAtOnce) {
  for (const int size : {1, 2, 3}) {
    for (const DType dtype : {f32, bf16, i64, c64}) {
      const auto errors = on_ranks(size, {}, [&](Communicator& end) {
        const auto numbers = [&](const Shape& shape) {
          if (dtype != c64) return of_rank(end.rank(), shape, dtype);
          return complex(of_rank(end.rank(), shape, f32), of_rank(7 - end.rank(), shape, f32));
        };
        const auto tensors = [&] {
          return List<Tensor>{numbers({2, 3, 2, 2}).contiguous(MemoryFormat::channels_last),
                              numbers({0, 3}),
                              numbers({}),
                              numbers({3, 4}).t(),
                              numbers({4, 4}).narrow(1, 1, 2),
                              numbers({5})};
        };
        const List<Tensor> together = tensors(), alone = tensors();
        const uint32_t version = together[0].storage()->version();
        end.all_reduce_coalesced(together, ReduceOp::sum);
        for (const Tensor& tensor : alone) end.all_reduce(tensor, ReduceOp::sum);
        for (size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(equal(together[i], alone[i])) << i;
        EXPECT_GT(together[0].storage()->version(), version);
        EXPECT_TRUE(together[0].is_contiguous(MemoryFormat::channels_last));
      });
      EXPECT_EQ(errors, no_errors(size)) << to_string(dtype);
    }
  }
}

TEST(LocalComm, SeveralTensorsMustLieAlike) {
  const auto error_on_rank_1 = [](const Tensor& first, const Tensor& second) {
    const auto errors = on_ranks(2, {}, [&](Communicator& end) {
      const Tensor last = zeros({5});
      end.all_reduce_coalesced({end.rank() == 0 ? first : second, last});
    });
    return errors[1];
  };
  const Tensor x = zeros({2, 3}), gaps = zeros({2, 6}).narrow(1, 0, 3);
  EXPECT_EQ(error_on_rank_1(x, zeros({2, 3})), kNoError);
  EXPECT_EQ(error_on_rank_1(x, gaps), kNoError);  // a copy is sent
  EXPECT_EQ(error_on_rank_1(zeros({2, 1, 3}), zeros({2, 3, 1}).transpose(1, 2)), kNoError);
  for (const Tensor& other : {zeros({3, 2}).t(), zeros({3, 2}), zeros({6})}) {
    const std::string text = error_on_rank_1(x, other);
    EXPECT_EQ(
        text.find("all_reduce: ranks must make the same call, got rank 0: all_reduce 0 of f32 "
                  "[11] in 2 tensors ("),
        0u)
        << text;
    EXPECT_NE(text.find("), sum; rank 1: all_reduce 0 of f32 [11] in 2 tensors ("),
              std::string::npos)
        << text;
  }
  // As many elements in another number of tensors.
  const auto errors = on_ranks(2, {}, [&](Communicator& end) {
    if (end.rank() == 0) return end.all_reduce_coalesced({x, zeros({5})});
    end.all_reduce(zeros({11}));
  });
  EXPECT_NE(errors[0].find("; rank 1: all_reduce 0 of f32 [11], sum"), std::string::npos);
  // One alone, too, whose elements another rank would add to others.
  const auto alone = on_ranks(2, {}, [&](Communicator& end) {
    end.all_reduce_coalesced({end.rank() == 0 ? x : zeros({3, 2}).t()});
  });
  EXPECT_NE(alone[0].find("ranks must make the same call"), std::string::npos) << alone[0];
  const auto end = std::move(nn::local_communicators(1)[0]);
  for (const Tensor& other : {x, gaps.narrow(1, 0, 1), x[1]}) {
    const std::string error =
        "all_reduce_coalesced: the tensors must have no memory in common, got "
        "[2,3] and " +
        to_string(other.shape());
    EXPECT_EQ(error_of([&] {
                end->all_reduce_coalesced({x, other});
              }),
              other.shares_storage(x) ? error : kNoError);
  }
  EXPECT_EQ(error_of([&] { end->all_reduce_coalesced({x[0], x[1]}); }), kNoError);
  EXPECT_EQ(error_of([&] { end->all_reduce_coalesced({}); }),
            "all_reduce_coalesced: there must be a tensor, got none");
  EXPECT_EQ(error_of([&] {
              end->all_reduce_coalesced({x, zeros({2}, {.dtype = f64})});
            }),
            "all_reduce_coalesced: the tensors must have one dtype and device, got f32 on cpu and "
            "f64 on cpu");
  EXPECT_EQ(error_of([&] {
              end->all_reduce_coalesced({x, Tensor()});
            }),
            "all_reduce_coalesced: tensor must be defined, got an undefined tensor");
  EXPECT_EQ(
      error_of([&] { end->all_reduce_coalesced({zeros({2}, {.dtype = i64})}, ReduceOp::mean); }),
      "all_reduce_coalesced: a mean needs a floating or complex dtype, got i64");
}

// 1 + 2^-24 + 2^-24 in f32: 1 from the left, 1 + 2^-23 from the right.
TEST(LocalComm, AddsInTheOrderOfRanks) {
  const float small = std::ldexp(1.0f, -24);
  for (const bool first : {true, false}) {
    const auto errors = on_ranks(3, {}, [&](Communicator& end) {
      const int large = first ? 0 : 2;
      const Tensor x = full({5}, end.rank() == large ? 1.0f : small);
      end.all_reduce(x);
      EXPECT_EQ(x.to_vector<float>(), std::vector<float>(5, first ? 1.0f : 1.0f + 2 * small));
    });
    EXPECT_EQ(errors, no_errors(3));
  }
}

// 2049 isn't an f16: sums of 2048 + 1 + 1 keep it until the end.
TEST(LocalComm, HalfTypesAddInF32) {
  const auto errors = on_ranks(3, {}, [](Communicator& end) {
    const Tensor x = full({2}, end.rank() == 0 ? 2048.0 : 1.0, {.dtype = f16});
    end.all_reduce(x);
    EXPECT_EQ(values_of(x), (std::vector<double>{2050, 2050}));
  });
  EXPECT_EQ(errors, no_errors(3));
}

TEST(LocalComm, WhatDiffersIsNamed) {
  const auto difference = [](const std::function<void(Communicator&)>& call) {
    const auto errors = on_ranks(2, {.timeout = 30}, call);
    EXPECT_EQ(errors[0], errors[1]);
    return errors[0];
  };
  EXPECT_EQ(difference([](Communicator& end) {
              const Tensor x = end.rank() == 0 ? zeros({4, 3}) : zeros({4, 2});
              end.all_reduce(x);
            }),
            "all_reduce: ranks must make the same call, got rank 0: all_reduce 0 of f32 [4,3], "
            "sum; rank 1: "
            "all_reduce 0 of f32 [4,2], sum");
  EXPECT_EQ(
      difference([](Communicator& end) {
        end.all_gather(zeros({4}, {.dtype = end.rank() == 0 ? f32 : f64}));
      }),
      "all_gather: ranks must make the same call, got rank 0: all_gather 0 of f32 [4]; rank 1: "
      "all_gather 0 of f64 [4]");
  EXPECT_EQ(difference([](Communicator& end) { end.broadcast(zeros({1}), end.rank()); }),
            "broadcast: ranks must make the same call, got rank 0: broadcast 0 of f32 [1], from "
            "rank 0; rank 1: "
            "broadcast 0 of f32 [1], from rank 1");
  const auto errors = on_ranks(2, {.timeout = 30}, [](Communicator& end) {
    end.barrier();
    if (end.rank() == 0)
      end.all_reduce(zeros({2}), ReduceOp::max);
    else
      end.barrier();
  });
  EXPECT_EQ(errors[0],
            "all_reduce: ranks must make the same call, got rank 0: all_reduce 1 of f32 [2], max; "
            "rank 1: "
            "barrier 1");
  EXPECT_EQ(errors[1],
            "barrier: ranks must make the same call, got rank 0: all_reduce 1 of f32 [2], max; "
            "rank 1: barrier 1");
}

TEST(LocalComm, ADuplicateBesideAnotherCallIsNamed) {
  const auto errors = on_ranks(3, {.timeout = 30}, [](Communicator& end) {
    const auto differ = [&] {
      if (end.rank() == 1)
        end.duplicate();
      else
        end.all_reduce(zeros({2}));
    };
    const std::string wanted =
        "ranks must make the same call, got rank 0: all_reduce 0 of f32 [2], sum; rank 1: "
        "duplicate";
    EXPECT_EQ(error_of(differ), end.rank() == 1   ? "duplicate: " + wanted
                                : end.rank() == 0 ? "all_reduce: " + wanted
                                                  : "all_reduce: " + wanted + "; this is rank 2");
    end.duplicate()->barrier();  // the group goes on
  });
  EXPECT_EQ(errors, no_errors(3));
  const auto first = on_ranks(2, {.timeout = 30}, [](Communicator& end) {
    if (end.rank() == 0)
      end.duplicate();
    else
      end.barrier();
  });
  const std::string wanted =
      "ranks must make the same call, got rank 0: duplicate; rank 1: barrier 0";
  EXPECT_EQ(first, (std::vector<std::string>{"duplicate: " + wanted, "barrier: " + wanted}));
}

TEST(LocalComm, WhatNoRankCanDo) {
  const auto end = std::move(nn::local_communicators(1)[0]);
  EXPECT_EQ(error_of([&] { end->all_reduce(zeros({2}, {.dtype = i64}), ReduceOp::mean); }),
            "all_reduce: a mean needs a floating or complex dtype, got i64");
  EXPECT_EQ(error_of([&] { end->broadcast(zeros({2}), 1); }),
            "broadcast: root must be 0 to the number of ranks - 1, got 1 of 1");
  EXPECT_EQ(
      error_of([&] { end->reduce_scatter(zeros({})); }),
      "reduce_scatter: the first dimension must divide into a part a rank, got [] for 1 ranks");
  EXPECT_EQ(error_of([&] { end->all_reduce({}); }),
            "all_reduce: tensor must be defined, got an undefined tensor");
  EXPECT_EQ(error_of([] { nn::local_communicators(0); }),
            "local_communicators: a group has at least one rank, got 0");
  EXPECT_EQ(error_of([] { nn::local_communicators(1, {.timeout = -1}); }),
            "Communicator: timeout must be seconds up to 1e9, or 0 for ever, got -1");
}

TEST(LocalComm, TheShareOfCollectivesIsTheFirstThreadsOutermostRanges) {
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  const auto end = std::move(nn::local_communicators(1)[0]);
  Profiler profiler;
  {
    const ProfilerRange step("step");
    pause();
    {
      const ProfilerRange wait("all_reduce", {}, " waits");
      end->all_reduce(zeros({3}));
      pause();
    }
    const ProfilerRange other("all_reduced");  // somebody else's
    std::thread([&] {
      const ProfilerRange hidden("all_gather");
      pause();
    }).join();
  }
  profiler.stop();
  int64_t step = 0, wait = 0;
  for (const ProfiledRange& range : profiler.ranges()) {
    if (range.name == "step") step = range.duration_ns;
    if (range.name == "all_reduce waits") wait = range.duration_ns;
  }
  ASSERT_GT(wait, 0);
  EXPECT_DOUBLE_EQ(collective_share(profiler),
                   static_cast<double>(wait) / static_cast<double>(step));
  Profiler nothing;
  nothing.stop();
  EXPECT_EQ(collective_share(nothing), 0);
}

TEST(LocalComm, WhoIsLateIsNamedWithWhatItDidLast) {
  const auto start = std::chrono::steady_clock::now();
  const auto errors = on_ranks(3, {.timeout = 0.3}, [&](Communicator& end) {
    end.barrier();
    if (end.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(900));
      end.barrier();  // too late: the group has ended
    } else {
      end.all_reduce(zeros({2}));
    }
  });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(9));
  for (const std::string& error : errors) {
    EXPECT_TRUE(error.starts_with(
        "collective: every rank must come within 0.3 s, got none of rank 1 (its last "
        "call: barrier 0, 0 bytes, took "))
        << error;
  }
}

TEST(LocalComm, WhoEndsTheGroupSaysWhy) {
  const auto errors = on_ranks(3, {.timeout = 60}, [](Communicator& end) {
    if (end.rank() == 2) {
      end.abort("rank 2: the disk is full");
      end.abort("a second reason");
    }
    end.barrier();
  });
  EXPECT_EQ(errors, std::vector<std::string>(3, "rank 2: the disk is full"));
}

// Ranks that wait in a duplicate, or in one of it, are let go with the group.
TEST(LocalComm, WhoEndsTheGroupEndsItsDuplicates) {
  const auto errors = on_ranks(2, {.timeout = 60}, [](Communicator& end) {
    const std::unique_ptr<Communicator> other = end.duplicate(true);
    const std::unique_ptr<Communicator> third = other->duplicate(true);
    if (end.rank() == 1) end.abort("rank 1: the disk is full");
    EXPECT_EQ(error_of([&] { third->barrier(); }), "rank 1: the disk is full");
    other->barrier();
  });
  EXPECT_EQ(errors, std::vector<std::string>(2, "rank 1: the disk is full"));
}

// A duplicate's end isn't the group's, nor the group's that of a duplicate for itself.
TEST(LocalComm, ADuplicateEndsAlone) {
  const auto errors = on_ranks(2, {.timeout = 60}, [](Communicator& end) {
    const std::unique_ptr<Communicator> other = end.duplicate(true), third = end.duplicate();
    if (end.rank() == 1) other->abort("no more of this");
    EXPECT_EQ(error_of([&] { other->barrier(); }), "no more of this");
    end.barrier();
    if (end.rank() == 0) end.abort("nor of that");
    EXPECT_EQ(error_of([&] { end.barrier(); }), "nor of that");
    third->barrier();
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(LocalComm, ALongerTimeoutIsOfTheCallsThatFollow) {
  const auto errors = on_ranks(2, {.timeout = 0.1}, [](Communicator& end) {
    end.set_timeout(30);
    if (end.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    end.barrier();
    EXPECT_EQ(end.timeout(), 30);
    EXPECT_EQ(end.failure(), "");
    EXPECT_EQ(error_of([&] { end.set_timeout(-1); }),
              "Communicator: timeout must be seconds up to 1e9, or 0 for ever, got -1");
    end.barrier();
    if (end.rank() == 1) end.abort("rank 1: it gives up");
    while (end.failure().empty()) std::this_thread::yield();
    EXPECT_EQ(end.failure(), "rank 1: it gives up");
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(LocalComm, ABarrierGrantsMoreTimeForItself) {
  const auto errors = on_ranks(2, {.timeout = 0.1}, [](Communicator& end) {
    if (end.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    end.barrier(30);
    EXPECT_EQ(end.timeout(), 0.1);
    for (const double seconds : {-1.0, 1e10, std::nan("")})
      EXPECT_TRUE(error_of([&] {
                    end.barrier(seconds);
                  }).starts_with("barrier: patience must be seconds from 0 to 1e9, got"))
          << seconds;
    end.barrier();
    if (end.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    EXPECT_TRUE(error_of([&] { end.barrier(); }).find("must come within 0.1 s") !=
                std::string::npos);
  });
  EXPECT_EQ(errors, no_errors(2));
}

// 1e10 seconds are more nanoseconds than an int64 counts.
TEST(LocalComm, AVeryLongTimeoutIsWaitedForOrRefused) {
  const auto errors = on_ranks(2, {.timeout = 1e9}, [](Communicator& end) {
    if (end.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    end.barrier();
    for (const double seconds : {1e10, 1e300, HUGE_VAL, std::nan("")})
      EXPECT_TRUE(error_of([&] {
                    end.set_timeout(seconds);
                  }).starts_with("Communicator: timeout must be seconds up to 1e9, or 0 for ever"))
          << seconds;
    EXPECT_EQ(end.timeout(), 1e9);
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(LocalComm, WhoHasLeftIsNamed) {
  auto ends = nn::local_communicators(2, {.timeout = 60});
  ends[1].reset();
  EXPECT_EQ(error_of([&] { ends[0]->barrier(); }),
            "collective: every rank must take part, got rank 1 that has left the group");
}

TEST(LocalComm, RemembersTheLastCollectives) {
  const auto errors = on_ranks(2, {.records = 3}, [](Communicator& end) {
    const ModuleScope outer("net");
    const ModuleScope scope("norm");
    for (int i = 0; i < 4; ++i) end.barrier();
    end.all_reduce(zeros({2, 3}, {.dtype = f64}), ReduceOp::mean);
    const std::vector<CollectiveRecord> records = end.records();
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[0].call(), "barrier 2");
    const CollectiveRecord& last = records[2];
    EXPECT_EQ(last.call(), "all_reduce 4 of f64 [2,3], mean");
    EXPECT_EQ(last.bytes, 48);
    EXPECT_EQ(last.path, "net.norm");
    EXPECT_GE(last.left_ns, last.entered_ns);
    EXPECT_GE(last.entered_ns, records[1].left_ns);
    EXPECT_TRUE(to_string(last).starts_with(
        "all_reduce 4 of f64 [2,3], mean, 48 bytes, in net.norm, took "))
        << to_string(last);
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(LocalComm, AFailedCollectiveIsNeverLeft) {
  on_ranks(2, {.timeout = 30}, [](Communicator& end) {
    error_of([&] { end.all_reduce(zeros({end.rank() + 1})); });
    ASSERT_EQ(end.records().size(), 1u);
    EXPECT_EQ(end.records()[0].left_ns, 0);
    EXPECT_NE(to_string(end.records()[0]).find(" so far"), std::string::npos);
  });
}

TEST(LocalComm, TheGroupOfAThread) {
  EXPECT_EQ(current_communicator(), nullptr);
  const auto ends = nn::local_communicators(1);
  {
    const CommunicatorScope scope(ends[0].get());
    EXPECT_EQ(current_communicator(), ends[0].get());
    std::thread([] { EXPECT_EQ(current_communicator(), nullptr); }).join();
    const CommunicatorScope none(nullptr);
    EXPECT_EQ(current_communicator(), nullptr);
  }
  EXPECT_EQ(current_communicator(), nullptr);
}

}  // namespace
}  // namespace aorta
