// What a user's compiler does with a program of three lines: seconds, and lines after the
// preprocessor.
#include <aorta/core/check.h>
#include <aorta/tools/bench/peer.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

namespace aorta::bench {
namespace {

namespace fs = std::filesystem;

// A folder that goes away with its owner.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "aorta-bench-XXXXXX").string();
    check(mkdtemp(name.data()), "bench", "a temporary folder can be made", name);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;
};

// A program, and how it is compiled.
struct Program {
  std::string name, text;
  std::vector<std::string> flags;
  std::string missing = {};
};

// The tree that this file's neighbours lie in, as a folder called aorta.
Program aorta_program(const Folder& folder) {
  const fs::path bench = fs::canonical(bench_file("peer.py")).parent_path();
  const fs::path include = folder.path / "include";
  fs::create_directories(include);
  fs::create_directory_symlink(bench.parent_path().parent_path(), include / "aorta");
  return {.name = "Aorta",
          .text =
              "#include <aorta/aorta.h>\n"
              "int main() {\n"
              "  return aorta::sum(aorta::ones({2, 3}) + 1).item<int>() != 12;\n"
              "}\n",
          .flags = {"-I" + include.string()}};
}

Program torch_program() {
  Program program = {.name = "LibTorch",
                     .text =
                         "#include <torch/torch.h>\n"
                         "int main() {\n"
                         "  return (torch::ones({2, 3}) + 1).sum().item<int>() != 12;\n"
                         "}\n",
                     .flags = {}};
  std::string why;
  if (!torch_peer(why)) program.missing = "LibTorch: " + why;
  for (const char* part : {"/include", "/include/torch/csrc/api/include"}) {
    program.flags.push_back("-isystem" + torch_folder() + part);
  }
  return program;
}

// Compiles the program; `lines` counts what the preprocessor leaves instead.
Side compile_side(const Program& program, const std::shared_ptr<Folder>& folder,
                  const std::string& level, bool lines) {
  if (!program.missing.empty()) return {.name = program.name, .missing = program.missing};
  const fs::path source = folder->path / (program.name + ".cc");
  std::ofstream(source) << program.text;
  std::vector<std::string> command = {"g++", "-std=c++20", source.string()};
  command.insert(command.end(), program.flags.begin(), program.flags.end());
  if (lines) {
    command.push_back("-E");
  } else {
    command.insert(command.end(), {level, "-c", "-o", (folder->path / "program.o").string()});
  }
  return {.name = program.name, .run = [=](int64_t repetitions) {
            const double start = seconds_now();
            double counted = 0;
            for (int64_t i = 0; i < repetitions; ++i) {
              const std::string text = run_program(command);
              counted += static_cast<double>(std::count(text.begin(), text.end(), '\n'));
            }
            static_cast<void>(folder);  // it lives as long as this
            return lines ? counted : seconds_now() - start;
          }};
}

Row compile_row(const Plan& plan, const std::string& name, const std::string& level) {
  const bool lines = level.empty();
  return {.name = name,
          .unit = lines ? Unit::lines : Unit::seconds,
          .make =
              [=] {
                const auto folder = std::make_shared<Folder>();
                return Case{.ours = compile_side(aorta_program(*folder), folder, level, lines),
                            .reference = compile_side(torch_program(), folder, level, lines)};
              },
          .rounds = lines || plan.tiny ? 1 : 3};
}

}  // namespace

Rows compile_rows(const Plan& plan) {
  return {compile_row(plan, "g++ -O0 of three lines", "-O0"),
          compile_row(plan, "g++ -O2 of three lines", "-O2"),
          compile_row(plan, "preprocessed lines", "")};
}

}  // namespace aorta::bench
