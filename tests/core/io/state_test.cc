#include <aorta/core/io/file_system.h>
#include <aorta/core/io/npy.h>
#include <aorta/core/io/safetensors.h>
#include <aorta/core/io/state.h>
#include <aorta/core/ops/creation.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <aorta/tests/core/io/faults.h>
#include <aorta/tests/core/io/fixtures.h>
#include <sys/wait.h>
#include <unistd.h>

namespace aorta {
namespace {

using io_test::elements;
using io_test::fails_with;
using io_test::fixture;
using io_test::formula;
using io_test::read_file;
using io_test::temporary;
using io_test::write_file;

using Texts = std::vector<std::string>;

State example_state() {
  State optimizer;
  optimizer.set("exp_avg.0", npy::load(fixture("npy/f4.npy")));
  optimizer.set("step", 12);
  optimizer.set("lr", 1e-3);
  optimizer.set("betas", std::vector<double>{0.9, 0.999});
  optimizer.set("name", "adam \"\\\n\xc3\xa4");
  State all;
  all.add("optimizer.", optimizer);
  all.set("loader.shuffle", true);
  all.set("loader.positions", std::vector<int64_t>{1, -2, std::numeric_limits<int64_t>::min()});
  all.set("loader.files", Texts{"a", "b,\"c\"", ""});
  all.set("none", Texts());
  all.set("best", std::numeric_limits<double>::infinity());
  return all;
}

TEST(State, HoldsTensorsAndValuesByName) {
  State state = example_state();
  EXPECT_EQ(elements(state.tensor("optimizer.exp_avg.0")), formula('f', 6));
  EXPECT_EQ(state.get<int64_t>("optimizer.step"), 12);
  EXPECT_EQ(state.get<double>("optimizer.step"), 12.0);
  EXPECT_EQ(state.get<double>("optimizer.lr"), 1e-3);
  EXPECT_EQ(state.get<std::string>("optimizer.name"), "adam \"\\\n\xc3\xa4");
  EXPECT_TRUE(state.get<bool>("loader.shuffle"));
  EXPECT_TRUE(state.get<std::vector<double>>("none").empty());
  EXPECT_TRUE(state.contains("best"));
  EXPECT_FALSE(state.contains("bes"));
}

TEST(State, TakesAPrefixOff) {
  State optimizer = example_state().with_prefix("optimizer.");
  EXPECT_EQ(optimizer.names(), (Texts{"betas", "exp_avg.0", "lr", "name", "step"}));
  EXPECT_EQ(elements(optimizer.tensor("exp_avg.0")), formula('f', 6));
  EXPECT_TRUE(example_state().with_prefix("model.").empty());
  State twice = optimizer;
  twice.add("copy.", twice);
  EXPECT_EQ(twice.names().size(), 10u);
}

TEST(State, SaysWhatIsWrong) {
  State state = example_state();
  EXPECT_TRUE(fails_with("state: tensor must be there, got no \"weight\"",
                         [&] { state.tensor("weight"); }));
  EXPECT_TRUE(fails_with("state: tensor must be there, got a plain value as \"best\"",
                         [&] { state.tensor("best"); }));
  EXPECT_TRUE(
      fails_with("state: value must be there, got no \"lr\"", [&] { state.get<double>("lr"); }));
  EXPECT_TRUE(fails_with("state: value must be there, got a tensor as \"optimizer.exp_avg.0\"",
                         [&] { state.get<double>("optimizer.exp_avg.0"); }));
  EXPECT_TRUE(fails_with("state: value must be an integer, got \"best\" as a double",
                         [&] { state.get<int64_t>("best"); }));
  EXPECT_TRUE(
      fails_with("state: value must be a list of doubles, got \"loader.files\" as a list of texts",
                 [&] { state.get<std::vector<double>>("loader.files"); }));
  EXPECT_TRUE(fails_with("state: value must be text, got \"none\" as a list of texts",
                         [&] { state.get<std::string>("none"); }));
  EXPECT_TRUE(
      fails_with("state: names must differ, got \"best\" twice", [&] { state.set("best", 1.0); }));
  EXPECT_TRUE(fails_with("state: names must differ, got \"best\" twice",
                         [&] { state.set("best", empty({1})); }));
  EXPECT_TRUE(fails_with("state: \"x\" must be defined, got an undefined tensor",
                         [&] { state.set("x", Tensor()); }));
}

TEST(State, NamesWhatIsMissingAndUnexpected) {
  State state;
  state.set("a", 1);
  state.set("b", empty({1}));
  state.check_names({"b", "a"});
  EXPECT_TRUE(fails_with(
      "state: names must be the object's, got missing \"c\", \"d\"; unexpected \"b\"", [&] {
        state.check_names({"a", "d", "c"});
      }));
  EXPECT_TRUE(fails_with("got unexpected \"a\", \"b\"", [&] { state.check_names({}); }));
  Texts many{"a", "b"};
  for (char c = 'c'; c < 'p'; ++c) many.push_back(std::string(1, c));
  EXPECT_TRUE(fails_with("\"l\" and 3 more", [&] { state.check_names(many); }));
}

TEST(State, SavesAndLoads) {
  std::string path = temporary("state.safetensors");
  State state = example_state();
  save(state, path);
  State back = State::load(path);
  EXPECT_EQ(back.names(), state.names());
  EXPECT_EQ(elements(back.tensor("optimizer.exp_avg.0")), formula('f', 6));
  for (const auto& [name, value] : state.values()) {
    if (name == "none") continue;  // an empty list has no type
    EXPECT_TRUE(back.values().at(name) == value) << name;
  }
  EXPECT_TRUE(back.get<Texts>("none").empty());
  State().save(path);
  EXPECT_TRUE(State::load(path).empty());
}

TEST(State, DoublesComeBackBitForBit) {
  using limits = std::numeric_limits<double>;
  std::string path = temporary("doubles.safetensors");
  std::vector<double> list{0.1,
                           -0.0,
                           1,
                           1e300,
                           -1e-300,
                           limits::denorm_min(),
                           limits::max(),
                           limits::lowest(),
                           limits::infinity(),
                           -limits::infinity(),
                           1.0 / 3,
                           1e22};
  State state;
  state.set("list", list);
  state.set("nan", limits::quiet_NaN());
  state.set("whole", 3.0);
  state.save(path);
  State back = State::load(path);
  auto read = back.get<std::vector<double>>("list");
  ASSERT_EQ(read.size(), list.size());
  EXPECT_EQ(std::memcmp(read.data(), list.data(), list.size() * sizeof(double)), 0);
  EXPECT_TRUE(std::isnan(back.get<double>("nan")));
  EXPECT_TRUE(std::holds_alternative<double>(back.values().at("whole")));
}

TEST(State, ReadsAFileOfVersion1) {
  // Made once, without checksums, by the fixture script; the format must stay readable.
  auto metadata = safetensors::Reader(fixture("safetensors/state.safetensors"), false).metadata();
  auto values = state_format::parse_values(metadata, "file");
  EXPECT_EQ(std::get<bool>(values.at("on")), true);
  EXPECT_EQ(std::get<int64_t>(values.at("step")), -12);
  EXPECT_EQ(std::get<double>(values.at("lr")), 0.001);
  EXPECT_EQ(std::get<double>(values.at("best")), std::numeric_limits<double>::infinity());
  EXPECT_EQ(std::get<std::string>(values.at("name")), "adam \xc3\xa9");
  EXPECT_EQ(std::get<std::vector<int64_t>>(values.at("seeds")), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(std::get<std::vector<double>>(values.at("betas"))[0], 0.9);
  EXPECT_EQ(std::get<Texts>(values.at("files")), (Texts{"a", "b"}));
}

TEST(State, RefusesWhatIsNoState) {
  std::string path = temporary("other.safetensors");
  EXPECT_TRUE(
      fails_with("missing: file must be readable, got ENOENT", [] { State::load("missing"); }));
  safetensors::save({}, path);
  EXPECT_TRUE(
      fails_with(path + ": file must hold a state, got tensors alone", [&] { State::load(path); }));
  safetensors::save({}, path, {{"aorta.state", "2"}});
  EXPECT_TRUE(
      fails_with(path + ": state format must be at most version 1, got version 2: the file is from",
                 [&] { State::load(path); }));
  safetensors::save({}, path, {{"aorta.state", "x"}});
  EXPECT_TRUE(
      fails_with("state format must have a version, got \"x\"", [&] { State::load(path); }));
  for (const char* bad : {"", "maybe", "1 ", "0x10", "[1,]", "[1,2.0]", "[\"a\",1]", "\"a", "[[1]]",
                          "nan", "[\"a\",[[[[[[", "--1", "1e", "{}"}) {
    safetensors::save({}, path, {{"aorta.state", "1"}, {"value:k", bad}});
    EXPECT_TRUE(fails_with(
        path + ":\"k\": value must be a bool, a number, text or a list of one kind, got ",
        [&] { State::load(path); }))
        << bad;
  }
}

TEST(State, RefusesOneNameForTensorAndValue) {
  std::string path = temporary("both.safetensors");
  safetensors::save({{"k", empty({1})}}, path, {{"aorta.state", "1"}, {"value:k", "1"}});
  EXPECT_TRUE(
      fails_with(path + ": names must differ, got \"k\" twice", [&] { State::load(path); }));
}

TEST(State, TextMustBeUtf8) {
  State state;
  state.set("k", "\xff");
  EXPECT_TRUE(
      fails_with("state: text must be UTF-8", [&] { state.save(temporary("utf8.safetensors")); }));
}

TEST(State, FindsEveryMutation) {
  std::string path = temporary("mutated_state.safetensors");
  example_state().save(path);
  std::string good = read_file(path);
  for (size_t at = 0; at < good.size(); ++at) {
    for (int change : {1, 32, 128}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      write_file(path, bad);
      EXPECT_TRUE(fails_with(path, [&] { State::load(path); })) << "byte " << at << " ^ " << change;
    }
  }
}

TEST(State, KeepsPreviousFiles) {
  std::string path = temporary("kept.safetensors");
  for (int64_t step = 1; step <= 4; ++step) {
    State state;
    state.set("step", step);
    state.save(path, 2);
  }
  EXPECT_EQ(State::load(path).get<int64_t>("step"), 4);
  EXPECT_EQ(State::load(path + ".1").get<int64_t>("step"), 3);
  EXPECT_EQ(State::load(path + ".2").get<int64_t>("step"), 2);
}

// A state whose tensor and value belong together.
State numbered(int32_t step) {
  State state;
  Tensor tensor = empty({1000}, {.dtype = i32});
  std::fill_n(tensor.data<int32_t>(), 1000, step);
  state.set("tensor", tensor);
  state.set("step", step);
  return state;
}

TEST(State, AFailedOrKilledSaveLeavesTheOldOrTheNewState) {
  using io_test::Fault;
  using io_test::plan;
  std::string path = temporary("faulty_state.safetensors");
  io::FileSystem table = io_test::faulty_table();
  auto step_on_disk = [&] {
    State state = State::load(path);
    auto step = state.get<int64_t>("step");
    EXPECT_EQ(elements(state.tensor("tensor")),
              std::vector<double>(1000, static_cast<double>(step)));
    return step;
  };
  for (Fault fault : {Fault::error, Fault::kill_before, Fault::kill_after}) {
    int call = 1;
    for (bool hit = true; hit; ++call) {
      numbered(1).save(path, 1);
      pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {  // 0: saved, 1: failed, 2: saved and no call was left to fail
        plan = {call, fault, ENOSPC, 0, false};
        io::ScopedFileSystem scope(table);
        bool failed = error_of([&] { numbered(2).save(path, 1); }) != kNoError;
        ::_exit(failed ? 1 : plan.hit ? 0 : 2);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      int64_t step = step_on_disk();
      EXPECT_TRUE(step == 1 || step == 2) << call;
      hit = WIFSIGNALED(status) || WEXITSTATUS(status) != 2;
      EXPECT_TRUE(hit || step == 2);
    }
    EXPECT_GT(call, 10);
  }
}

}  // namespace
}  // namespace aorta
