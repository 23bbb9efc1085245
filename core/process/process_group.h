#pragma once

#include <aorta/core/comm.h>
#include <aorta/core/list.h>

#include <string>

// The processes that mpirun or srun started together: PyTorch's torch.distributed.

namespace aorta::distributed {

/// Whether mpirun, mpiexec or srun started this program, by what they leave in the environment.
bool is_launched();

/// Makes the group of all processes, by MPI (libaorta_mpi.so). aorta::init() does it in a program
/// that is_launched(); else a program may ask for it, which is then a group of one. Comes before
/// the first use of CUDA. Calling it again changes nothing. Unless OMP_NUM_THREADS says how many,
/// the ranks that share CPUs divide them among their threads. Throws where the plugin or MPI can't
/// be had.
void init_process_group(const CommOptions& options = {});
/// Whether there is such a group.
bool is_initialized();

/// This process's place among all, and among those of its machine; 0 without a group.
int get_rank();
int get_local_rank();
/// How many processes there are; 1 without a group.
int get_world_size();
/// The group of all processes; throws without one.
Communicator& world();

/// While it lives, this is what the process does: "waiting for a batch". Other ranks of the machine
/// say it when they wait for this one in vain. Scopes nest; the main thread's alone are known.
class ActivityScope {
 public:
  explicit ActivityScope(const char* what);
  ~ActivityScope();
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  const char* outer_;
};

/// Writes the last collectives of this process, and of those of its machine that can't do so any
/// more, into `folder`, a file a rank: rank_0.csv, ... Does nothing without a group.
void write_collectives(const Text& folder);

}  // namespace aorta::distributed

namespace aorta {
class Mailbox;
struct MailboxHandlers;
}  // namespace aorta

namespace aorta::detail {

/// What libaorta_mpi.so makes.
class ProcessGroup {
 public:
  ProcessGroup() = default;
  virtual ~ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  virtual Communicator& world() = 0;
  virtual int local_rank() const = 0;
  /// How many ranks may run on just the CPUs that this one may.
  virtual int ranks_on_these_cpus() const = 0;
  /// At most one at a time.
  virtual std::unique_ptr<Mailbox> open_mailbox(const MailboxHandlers& handlers) = 0;
  virtual void set_activity(const char* what) = 0;
  virtual void write_collectives(const std::string& folder) = 0;
  /// At the program's end: after an error the others are told, else they are waited for.
  virtual void finish(int exit_code) = 0;
};

/// Loads the plugin and calls its entry.
std::unique_ptr<ProcessGroup> open_process_group(const CommOptions& options);

}  // namespace aorta::detail
