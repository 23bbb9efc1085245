#include <aorta/core/process/process_group.h>
#include <aorta/core/process/zygote.h>
#include <aorta/mpi/link.h>
#include <aorta/mpi/mailbox.h>
#include <aorta/mpi/mpi_comm.h>
#include <aorta/mpi/processes.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

namespace aorta::mpi {
namespace {

constexpr int kEnvironment = 4;  // aorta-echo's code for what its surroundings lack

// Ends this process when a call of MPI that waits for all ranks takes longer: of one that is
// stopped, or whose host hangs, MPI itself never says anything.
class Watch {
 public:
  /// It also ends when a rank of this machine is stopped for `stopped` seconds; 0: it looks for
  /// none.
  Watch(double seconds, const char* rule, double stopped = 0) : rule_(rule) {
    if (seconds > 0 || stopped > 0)
      thread_ = std::thread([this, seconds, stopped] { wait(seconds, stopped); });
  }
  ~Watch() {
    {
      const std::lock_guard lock(mutex_);
      returned_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void wait(double seconds, double stopped) {
    std::unique_lock lock(mutex_);
    // In slices, for while this process itself is stopped it waits for nobody.
    constexpr double kSlice = 0.25;
    double found_stopped = 0;
    for (double waited = 0; seconds == 0 || waited < seconds; waited += kSlice) {
      const double left = seconds == 0 ? kSlice : seconds - waited;
      const std::chrono::duration<double> slice(std::min(kSlice, left));
      if (changed_.wait_for(lock, slice, [this] { return returned_; })) return;
      if (stopped == 0) continue;
      const std::vector<int64_t> siblings = stopped_siblings();
      found_stopped = siblings.empty() ? 0 : found_stopped + kSlice;
      if (found_stopped <= stopped) continue;
      dprintf(STDERR_FILENO, "error: %s, got one that is stopped (pid %d)\n", rule_,
              static_cast<int>(siblings[0]));
      exit_process(kEnvironment);
    }
    dprintf(STDERR_FILENO, "error: %s within %g s, got one that waits for others (pid %d)\n", rule_,
            seconds, static_cast<int>(getpid()));
    exit_process(kEnvironment);
  }

  const char* rule_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool returned_ = false;
  std::thread thread_;
};

class MpiProcessGroup final : public detail::ProcessGroup {
 public:
  explicit MpiProcessGroup(const CommOptions& options)
      : link_(options.records), world_(link_, options) {}

  Communicator& world() override { return world_; }
  int local_rank() const override { return link_.local_rank(); }
  int ranks_on_these_cpus() const override { return link_.ranks_on_these_cpus(); }
  std::unique_ptr<Mailbox> open_mailbox(const MailboxHandlers& handlers) override {
    return std::make_unique<MpiMailbox>(link_, handlers);
  }
  void set_activity(const char* what) override { link_.board().set_activity(what); }
  void write_collectives(const std::string& folder) override { link_.write_collectives(folder); }

  void finish(int exit_code) override {
    set_activity("at its end");
    // mpirun kills who still waits here when another rank has failed.
    std::fflush(nullptr);
    std::cout.flush();
    if (exit_code == 0 && all_are_at_their_end()) {
      const Watch watch(world_.timeout(), "exit: every rank must end");
      MPI_Finalize();
      return;
    }
    // MPI's own end would wait for the others. mpirun returns the code of whose end it sees first:
    // that is for the rank that failed, or was killed.
    if (exit_code == 0 || link_.is_anothers_failure()) sleep(1);
    if (exit_code != 0)
      link_.end("rank " + std::to_string(link_.rank()) + ": it has ended with code " +
                std::to_string(exit_code));
    link_.flush();
    constexpr int kFailed = 1;
    if (exit_code == 0) exit_process(kFailed);
  }

 private:
  bool all_are_at_their_end() {
    try {
      return link_.failure().empty() && link_.meet_at_the_end(world_.timeout());
    } catch (const RankError& error) {
      if (error.is_heard()) return false;
      dprintf(STDERR_FILENO, "error: %s\n", error.what());
      link_.flush();
      exit_process(kEnvironment);
    }
  }

  Link link_;
  MpiCommunicator world_;
};

}  // namespace
}  // namespace aorta::mpi

// What aorta::init() calls.
extern "C" aorta::detail::ProcessGroup* aorta_open_process_group(
    const aorta::CommOptions& options) {
  const aorta::mpi::Watch watch(options.start_timeout, "init_process_group: every rank must start",
                                options.timeout);
  // The backward pass's thread reduces while the main one computes; Link lets one in at a time.
  int level = MPI_THREAD_SINGLE;
  const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
  aorta::check(code == MPI_SUCCESS && level >= MPI_THREAD_SERIALIZED, "init_process_group",
               "MPI must start, for calls of several threads in turn", "level ", level, ", code ",
               code);
  return new aorta::mpi::MpiProcessGroup(options);
}
