// Groups within a group: of threads. Those of processes are mpi_test's.
#include <aorta/aorta.h>
#include <aorta/nn/parallel/device_mesh.h>
#include <aorta/tests/nn/parallel/ranks.h>

#include <gtest/gtest.h>

namespace aorta {
namespace {

// The ranks of a group, as the others in it know them.
std::vector<int64_t> ranks_of(Communicator& group, int64_t mine) {
  return group.all_gather(tensor({mine})).to_vector<int64_t>();
}

using Ranks = std::vector<int64_t>;

TEST(Split, GroupsAreOfOneColor) {
  const auto errors = on_ranks(5, {.timeout = 30}, [](Communicator& end) {
    const auto group = end.split(end.rank() % 2 == 0 ? 7 : -1);
    EXPECT_EQ(ranks_of(*group, end.rank()), end.rank() % 2 == 0 ? (Ranks{0, 2, 4}) : (Ranks{1, 3}));
    EXPECT_EQ(group->rank(), end.rank() / 2);
    const Tensor sum = full({3}, 1.0 * end.rank());
    group->all_reduce(sum);
    EXPECT_EQ(sum.at<float>({2}), end.rank() % 2 == 0 ? 6 : 4);
    // One of its own, and all of it once more.
    const auto one = group->split(group->rank()), same = group->split(0);
    EXPECT_EQ(ranks_of(*one, end.rank()), (Ranks{end.rank()}));
    EXPECT_EQ(ranks_of(*same, end.rank()), ranks_of(*group, end.rank()));
    end.barrier();
  });
  EXPECT_EQ(errors, no_errors(5));
}

TEST(Split, AGroupEndsWithTheOneThatItIsOf) {
  const auto errors = on_ranks(4, {.timeout = 60}, [](Communicator& end) {
    const auto group = end.split(end.rank() / 2);
    if (end.rank() == 1) end.abort("rank 1: the disk is full");
    if (end.rank() < 2) group->barrier();
    end.barrier();
  });
  EXPECT_EQ(errors, std::vector<std::string>(4, "rank 1: the disk is full"));
}

TEST(Split, ALateRankIsNamedInItsGroup) {
  const auto errors = on_ranks(4, {.timeout = 0.2}, [](Communicator& end) {
    const auto group = end.split(end.rank() / 2);
    if (end.rank() != 3) group->barrier();
    if (end.rank() < 2) {
      EXPECT_EQ(group->failure(), "");
    }
  });
  EXPECT_EQ(errors[0], kNoError);
  EXPECT_EQ(errors[1], kNoError);
  EXPECT_TRUE(errors[2].starts_with("collective: every rank must ")) << errors[2];
}

TEST(Split, BesideAnotherCallIsNamed) {
  const auto errors = on_ranks(2, {.timeout = 30}, [](Communicator& end) {
    if (end.rank() == 0)
      end.split(0);
    else
      end.barrier();
  });
  const std::string wanted = "ranks must make the same call, got rank 0: split; rank 1: barrier 0";
  EXPECT_EQ(errors, (std::vector<std::string>{"split: " + wanted, "barrier: " + wanted}));
}

TEST(DeviceMesh, HasAGroupAlongEachDimension) {
  const auto errors = on_ranks(12, {.timeout = 30}, [](Communicator& end) {
    const nn::DeviceMesh mesh(end, {2, 3, 2}, {"pp", "dp", "tp"});
    const int64_t rank = end.rank(), pp = rank / 6, dp = rank / 2 % 3, tp = rank % 2;
    EXPECT_EQ(ranks_of(mesh["pp"], rank), (Ranks{rank % 6, rank % 6 + 6}));
    EXPECT_EQ(ranks_of(mesh["dp"], rank), (Ranks{6 * pp + tp, 6 * pp + 2 + tp, 6 * pp + 4 + tp}));
    EXPECT_EQ(ranks_of(mesh["tp"], rank), (Ranks{6 * pp + 2 * dp, 6 * pp + 2 * dp + 1}));
    EXPECT_EQ(mesh["dp"].rank(), dp);
    EXPECT_EQ(mesh.shape(), (Shape{2, 3, 2}));
  });
  EXPECT_EQ(errors, no_errors(12));
}

TEST(DeviceMesh, WhatIsNoGrid) {
  const auto end = std::move(nn::local_communicators(1)[0]);
  const auto error = [&](const Shape& sizes, const List<std::string>& names) {
    return error_of([&] { nn::DeviceMesh(*end, sizes, names); });
  };
  EXPECT_EQ(error({2}, {"dp"}), "DeviceMesh: sizes must make up the group, got [2] for 1 ranks");
  EXPECT_EQ(error({-1, -1}, {"dp", "tp"}), "DeviceMesh: sizes must be positive, got [-1,-1]");
  EXPECT_EQ(error({1, 1}, {"dp"}), "DeviceMesh: each dimension must have a name, got 1 for [1,1]");
  EXPECT_EQ(error({1, 1}, {"dp", "dp"}), "DeviceMesh: names must differ, got \"dp\" twice");
  EXPECT_EQ(error_of([&] {
              nn::DeviceMesh(*end, {1, 1}, {"dp", "tp"})["pp"].rank();
            }),
            "DeviceMesh: the name must be of a dimension, got \"pp\" of \"dp\", \"tp\"");
}

}  // namespace
}  // namespace aorta
