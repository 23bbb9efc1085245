#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/ranks.h>
#include <aorta/core/clock.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/process/process_group.h>
#include <aorta/core/text.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <sstream>

namespace aorta::echo {
namespace {

// Where ranks may be apart for long: data that are looked at, a checkpoint on a slow disk.
constexpr double kPatience = 600;  // seconds
// For how long another rank's word of the same error is waited for.
constexpr double kHearing = 0.3;

const std::string kCodeMark = " (exit code ";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// What may differ from machine to machine.
bool is_free(const std::string& line) {
  for (const char* name : {"#", "data_dir:", "num_workers:", "pin_memory:", "timeout:"})
    if (line.starts_with(name)) return true;
  return false;
}

std::string text_of_first_rank(const std::string& mine) {
  Communicator& group = *rank_group();
  const Tensor length = tensor({static_cast<int64_t>(mine.size())});
  group.broadcast(length);
  std::vector<uint8_t> bytes(static_cast<size_t>(length.item<int64_t>()));
  std::copy_n(mine.begin(), std::min(bytes.size(), mine.size()), bytes.begin());
  const Tensor all = tensor(bytes);
  group.broadcast(all);
  const auto* data = all.data<uint8_t>();
  return {data, data + all.numel()};
}

int code_of_reason(const std::string& reason) {
  int code = static_cast<int>(ExitCode::environment);
  const size_t at = reason.rfind(kCodeMark);
  if (at != std::string::npos)
    std::from_chars(reason.data() + at + kCodeMark.size(), reason.data() + reason.size(), code);
  return code;
}

// One line, whatever a file's name holds.
void complain(const std::string& text) {
  std::fprintf(stderr, "error: %s\n", printable(text).c_str());
}

}  // namespace

Communicator* rank_group() {
  return distributed::is_initialized() ? &distributed::world() : nullptr;
}

int64_t rank_count() { return distributed::get_world_size(); }
bool is_first_rank() { return distributed::get_rank() == 0; }

std::vector<std::vector<double>> gathered(const std::vector<double>& mine) {
  if (!rank_group()) return {mine};
  const Tensor all = rank_group()->all_gather(tensor(mine));
  const auto* numbers = all.data<double>();
  std::vector<std::vector<double>> rows;
  for (int64_t rank = 0; rank < rank_count(); ++rank, numbers += mine.size())
    rows.emplace_back(numbers, numbers + mine.size());
  return rows;
}

void meet_ranks() {
  if (Communicator* group = rank_group()) group->barrier(kPatience);
}

void on_first_rank(const std::function<void()>& work) {
  if (is_first_rank()) work();
  meet_ranks();
}

void check_same_settings(const std::string& args) {
  if (!rank_group()) return;
  const std::vector<std::string> first = lines_of(text_of_first_rank(args)), mine = lines_of(args);
  for (size_t i = 0; i < std::max(first.size(), mine.size()); ++i) {
    const std::string theirs = i < first.size() ? first[i] : "nothing";
    const std::string own = i < mine.size() ? mine[i] : "nothing";
    if (theirs != own && !is_free(own))
      throw Failure(ExitCode::usage, "the ranks' settings must be the same, got " + theirs +
                                         " on rank 0 and " + own + " on rank " +
                                         std::to_string(distributed::get_rank()));
  }
}

RankRandom::RankRandom() {
  if (!rank_group()) return;
  Generator& common = default_generator();
  const uint64_t low = common.next_u32(), seed = uint64_t{common.next_u32()} << 32 | low;
  own_.restore({seed, static_cast<uint64_t>(distributed::get_rank()), 0});
  scope_.emplace(own_);
}

int end_ranks(int code, const std::string& text) {
  Communicator* group = rank_group();
  if (!group || group->size() == 1) {
    complain(text);
    return code;
  }
  signal(SIGTERM, SIG_IGN);  // mpirun ends who is slower than the first, which has said why
  // What all find wrong, the first rank says. A reason that begins so is this rank's: a backward
  // pass that fails ends the group itself.
  const std::string self = "rank " + std::to_string(group->rank()) + ": ";
  const double start = seconds_now();
  std::string heard = group->failure();
  while (heard.empty() && !is_first_rank() && seconds_now() - start < kHearing) {
    usleep(2000);
    heard = group->failure();
  }
  if (!heard.empty() && !heard.starts_with(self)) return code_of_reason(heard);
  const std::string own = self + text;
  complain(own);
  group->abort(own + kCodeMark + std::to_string(code) + ")");
  return code;
}

int end_with(const RankError& error) {
  const std::string text = error.what();
  if (!error.is_heard()) complain(text);
  return code_of_reason(text);
}

void write_rank_records(const std::string& run) {
  if (rank_count() == 1) return;
  try {
    make_folder(run + "/ranks");
    distributed::write_collectives(run + "/ranks");
  } catch (const Error&) {
    // The error that is under way says more.
  }
}

}  // namespace aorta::echo
