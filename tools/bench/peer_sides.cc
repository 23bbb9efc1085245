#include <aorta/core/check.h>
#include <aorta/core/parallel_for.h>
#include <aorta/tools/bench/peer.h>
#include <aorta/tools/bench/sides.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace aorta::bench {
namespace {

namespace fs = std::filesystem;

// One piece of work in a peer, as long as the row lives.
class Defined {
 public:
  Defined(std::shared_ptr<Peer> peer, const std::string& setup, const std::string& expression)
      : peer_(std::move(peer)), id_(fmt::format("row{}", ++count_)) {
    peer_->ask({"threads", std::to_string(get_num_threads())});
    peer_->ask({"define", id_, setup, expression});
  }
  ~Defined() {
    try {
      peer_->ask({"drop", id_});
    } catch (const Error&) {  // it is gone, and what it had with it
    }
  }
  Defined(const Defined&) = delete;
  Defined& operator=(const Defined&) = delete;

  double time(int64_t repetitions) const {
    return peer_->ask_number({"time", id_, std::to_string(repetitions)});
  }
  double waits(int64_t repetitions) const {
    return peer_->ask_number({"waits", id_, std::to_string(repetitions)});
  }
  std::vector<double> values(const std::string& check) const {
    std::vector<double> values;
    for (const std::string& field : peer_->ask({"values", id_, check})) {
      values.push_back(std::strtod(field.c_str(), nullptr));
    }
    return values;
  }

 private:
  static inline int count_ = 0;
  std::shared_ptr<Peer> peer_;
  std::string id_;
};

Side peer_side(const std::string& name, std::shared_ptr<Peer> peer, const std::string& setup,
               const std::string& expression, const std::string& check) {
  try {
    const auto work = std::make_shared<Defined>(std::move(peer), setup, expression);
    return {.name = name,
            .run = [work](int64_t repetitions) { return work->time(repetitions); },
            .values = [work, check] { return work->values(check); }};
  } catch (const Error& error) {
    return {.name = name, .missing = fmt::format("{}: {}", name, error.what())};
  }
}

// Processes under mpirun. The first hears what it is asked through mpirun, and tells the others by
// pipes that have names in a folder: who waits at a pipe needs no processor.
struct Ranks {
  explicit Ranks(int count) : folder(made_folder(count)), peer(command(count, folder)) {
    peer.ask({"hello"});
  }
  ~Ranks() {
    std::error_code error;
    fs::remove_all(folder, error);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  static std::string made_folder(int count) {
    std::string folder = (fs::temp_directory_path() / "aorta_bench_XXXXXX").string();
    check(mkdtemp(folder.data()), "bench", "a folder can be made", folder);
    for (int rank = 1; rank < count; ++rank) {
      const std::string path = fmt::format("{}/rank_{}", folder, rank);
      check(mkfifo(path.c_str(), 0600) == 0, "bench", "a pipe can be made", path);
    }
    return folder;
  }
  static std::vector<std::string> command(int count, const std::string& folder) {
    std::vector<std::string> words = {"mpirun"};
    if (run_program({"mpirun", "--version"}).find("Open MPI") != std::string::npos) {
      words.push_back("--oversubscribe");
      if (getuid() == 0) words.push_back("--allow-run-as-root");
    }
    for (const std::string& word :
         {std::string("-n"), std::to_string(count), bench_file("rank"), folder})
      words.push_back(word);
    return words;
  }

  std::string folder;
  Peer peer;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache && *cache) return fs::path(cache) / "aorta-bench";
  if (home && *home) return fs::path(home) / ".cache" / "aorta-bench";
  return fs::temp_directory_path() / fmt::format("aorta-bench-{}", getuid());
}

// Compiles peer_libtorch.cc against the interpreter's package, once for each version of both.
std::string compile_libtorch() {
  const std::string source = bench_file("peer_libtorch.cc"), torch = torch_folder();
  const size_t key = std::hash<std::string>()(read_file(source) + torch_version() + torch);
  const fs::path program = cache_folder() / fmt::format("peer_libtorch-{:016x}", key);
  if (fs::exists(program)) return program.string();
  fs::create_directories(program.parent_path());
  const std::string made = fmt::format("{}.{}", program.string(), getpid());
  std::fprintf(stderr, "bench: compiling the LibTorch peer, once\n");
  run_program({"g++", "-O2", "-std=c++20", "-I" + torch + "/include",
               "-I" + torch + "/include/torch/csrc/api/include", source, "-o", made,
               "-L" + torch + "/lib", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10",
               "-Wl,-rpath," + torch + "/lib", "-Wl,--allow-shlib-undefined"});
  fs::rename(made, program);
  return program.string();
}

struct LibtorchPeer {
  std::shared_ptr<Peer> peer;
  std::string why;
};

LibtorchPeer start_libtorch() {
  LibtorchPeer libtorch;
  if (!torch_peer(libtorch.why)) return libtorch;
  try {
    libtorch.peer = std::make_shared<Peer>(std::vector<std::string>{compile_libtorch()});
    libtorch.peer->ask({"hello"});
  } catch (const std::exception& error) {
    libtorch.peer.reset();
    libtorch.why = error.what();
  }
  return libtorch;
}

}  // namespace

Side torch_side(const std::string& setup, const std::string& expression, const std::string& check) {
  std::string why;
  std::shared_ptr<Peer> peer = torch_peer(why);
  if (!peer) return {.name = "PyTorch", .missing = "PyTorch: " + why};
  return peer_side("PyTorch", std::move(peer), setup, expression, check);
}

Side libtorch_side(const std::string& name) {
  static LibtorchPeer libtorch = start_libtorch();
  if (!libtorch.peer) return {.name = "LibTorch", .missing = "LibTorch: " + libtorch.why};
  return peer_side("LibTorch", libtorch.peer, "", name, "sample");
}

Side ranks_side(const std::string& name, int count, const std::string& step, bool checked) {
  try {
    const auto ranks = std::make_shared<Ranks>(count);
    Side side = peer_side(name, {ranks, &ranks->peer}, "", step, "sample");
    if (!checked) side.values = {};
    return side;
  } catch (const Error& error) {
    return {.name = name, .missing = fmt::format("{}: {}", name, error.what())};
  }
}

Side ranks_waits_side(int count, const std::string& step) {
  try {
    const auto ranks = std::make_shared<Ranks>(count);
    const auto work =
        std::make_shared<Defined>(std::shared_ptr<Peer>(ranks, &ranks->peer), "", step);
    work->time(1);
    constexpr double kSeconds = 0.5;
    const auto steps = std::max<int64_t>(2, std::llround(kSeconds / work->time(1)));
    return {.name = "Aorta", .run = [work, steps](int64_t repetitions) {
              return static_cast<double>(repetitions) * work->waits(steps);
            }};
  } catch (const Error& error) {
    return {.name = "Aorta", .missing = fmt::format("Aorta: {}", error.what())};
  }
}

Side torch_ranks_side(int count, const std::string& setup, const std::string& expression) {
  std::string why;
  if (!torch_peer(why)) return {.name = "PyTorch", .missing = "PyTorch: " + why};
  try {
    return peer_side(
        "PyTorch",
        std::make_shared<Peer>(std::vector<std::string>{
            std::getenv("AORTA_PEER_PYTHON"), bench_file("peer.py"), std::to_string(count)}),
        setup, expression, "sample");
  } catch (const Error& error) {
    return {.name = "PyTorch", .missing = fmt::format("PyTorch: {}", error.what())};
  }
}

}  // namespace aorta::bench
