#include <aorta/core/parallel_for.h>
#include <aorta/core/plugin.h>
#include <aorta/core/process/mailbox.h>
#include <aorta/core/process/process_group.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace aorta {
namespace {

struct State {
  // Never destroyed: threads of the program may use it until the end.
  detail::ProcessGroup* group = nullptr;
  pid_t owner = 0;
  const char* activity = "";
};

State& state() {
  static State instance;
  return instance;
}

detail::ProcessGroup* group_of_this_process() {
  return state().owner == getpid() ? state().group : nullptr;
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value && *value;
}

void finish_at_exit(int code, void*) {
  if (detail::ProcessGroup* group = group_of_this_process()) group->finish(code);
}

}  // namespace

namespace distributed {

bool is_launched() {
  // Open MPI and PMIx, MPICH's Hydra and Slurm's PMI, Slurm without either. A batch script of
  // Slurm's has SLURM_PROCID, too, but is no step.
  return is_set("OMPI_COMM_WORLD_SIZE") || is_set("PMI_RANK") || is_set("PMIX_RANK") ||
         (is_set("SLURM_PROCID") && is_set("SLURM_STEP_NUM_TASKS") &&
          std::strcmp(std::getenv("SLURM_STEP_NUM_TASKS"), "1") != 0);
}

void init_process_group(const CommOptions& options) {
  if (is_initialized()) return;
  state().group = detail::open_process_group(options).release();
  state().owner = getpid();
  on_exit(finish_at_exit, nullptr);
  if (!is_set("OMP_NUM_THREADS"))
    set_num_threads(std::max(1, get_num_threads() / state().group->ranks_on_these_cpus()));
}

bool is_initialized() { return group_of_this_process() != nullptr; }

int get_rank() { return is_initialized() ? world().rank() : 0; }
int get_local_rank() { return is_initialized() ? state().group->local_rank() : 0; }
int get_world_size() { return is_initialized() ? world().size() : 1; }

Communicator& world() {
  check(is_initialized(), "distributed::world",
        "there must be a group: start the program by mpirun or srun, or call init_process_group()",
        "none");
  return state().group->world();
}

std::unique_ptr<Mailbox> open_mailbox(const MailboxHandlers& handlers) {
  world();
  return state().group->open_mailbox(handlers);
}

ActivityScope::ActivityScope(const char* what) : outer_(std::exchange(state().activity, what)) {
  if (is_initialized()) state().group->set_activity(what);
}

ActivityScope::~ActivityScope() {
  state().activity = outer_;
  if (is_initialized()) state().group->set_activity(outer_);
}

void write_collectives(const Text& folder) {
  if (is_initialized()) state().group->write_collectives(folder);
}

}  // namespace distributed

namespace detail {

std::unique_ptr<ProcessGroup> open_process_group(const CommOptions& options) {
  // MPI loads parts of its own that want its names from all that is loaded.
  const PluginEntry plugin = load_plugin("libaorta_mpi.so", "AORTA_MPI_PLUGIN",
                                         "aorta_open_process_group", PluginNames::of_all);
  check(plugin.function, "init_process_group",
        "processes that train together need libaorta_mpi.so and MPI", plugin.problem);
  using Entry = ProcessGroup* (*)(const CommOptions&);
  return std::unique_ptr<ProcessGroup>(reinterpret_cast<Entry>(plugin.function)(options));
}

}  // namespace detail
}  // namespace aorta
