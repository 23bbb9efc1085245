#include <aorta/core/parallel_for.h>
#include <aorta/core/process/process_group.h>

#include <dlfcn.h>
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

ActivityScope::ActivityScope(const char* what) : outer_(std::exchange(state().activity, what)) {
  if (is_initialized()) state().group->set_activity(what);
}

ActivityScope::~ActivityScope() {
  state().activity = outer_;
  if (is_initialized()) state().group->set_activity(outer_);
}

void write_collectives(const std::string& folder) {
  if (is_initialized()) state().group->write_collectives(folder);
}

}  // namespace distributed

namespace detail {

// The plugin is a shared library of its own, so that one program runs with and without MPI. It is
// looked for at AORTA_MPI_PLUGIN, then beside the file that holds this function, then as the loader
// does.
std::unique_ptr<ProcessGroup> open_process_group(const CommOptions& options) {
  const char* op = "init_process_group";
  const char* rule = "processes that train together need libaorta_mpi.so and MPI";
  std::string path = "libaorta_mpi.so";
  if (const char* wish = std::getenv("AORTA_MPI_PLUGIN"); wish && *wish) {
    path = wish;
    check(path != "none", op, rule, "AORTA_MPI_PLUGIN=none, which switches it off");
  } else {
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&open_process_group), &info) && info.dli_fname) {
      const std::string self = info.dli_fname;
      const std::string beside = self.substr(0, self.rfind('/') + 1) + path;
      if (access(beside.c_str(), R_OK) == 0) path = beside;
    }
  }
  // MPI loads parts of its own that want its names from all that is loaded.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) fail(op, rule, dlerror());
  using Entry = ProcessGroup* (*)(const CommOptions&);
  const Entry entry = reinterpret_cast<Entry>(dlsym(library, "aorta_open_process_group"));
  if (!entry) fail(op, rule, path, " without aorta_open_process_group");
  return std::unique_ptr<ProcessGroup>(entry(options));
}

}  // namespace detail
}  // namespace aorta
