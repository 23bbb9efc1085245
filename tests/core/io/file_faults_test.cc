// Every system call of a save fails in turn, or the process is killed before or after it, or the
// power fails after it. Each time the file must be the old or the new one, whole.
#include <aorta/core/io/file.h>
#include <aorta/core/io/file_system.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include <aorta/tests/core/io/faults.h>
#include <aorta/tests/core/io/fixtures.h>

namespace aorta::io {
namespace {

using io_test::Fault;
using io_test::faulty_table;
using io_test::plan;
using io_test::read_file;
using io_test::temporary;
using io_test::write_file;

const std::string kOld(7000, 'o');
const std::string kNew(9000, 'n');
const std::string kNewest(5000, 'N');

void save(const std::string& path, const std::string& contents, int keep_previous) {
  AtomicFile file(path, keep_previous);
  for (size_t at = 0; at < contents.size(); at += 4000)
    file.write(std::string_view(contents).substr(at, 4000));
  file.commit();
}

size_t entries(const std::string& path) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
}

class AtomicFileFaults : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    folder_ = temporary("faults");
    path_ = folder_ + "/file";
    old_table_ = faulty_table();
  }

  void start(int call, Fault fault, int error) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    write_file(path_, kOld);
    write_file(path_ + ".1", "older");
    plan = {call, fault, error, 0, false};
  }

  std::string try_to_save() {
    ScopedFileSystem scope(old_table_);
    return error_of([&] { save(path_, kNew, GetParam()); });
  }

  void expect_old_or_new(const std::string& what) {
    std::string contents = read_file(path_);
    EXPECT_TRUE(contents == kOld || contents == kNew)
        << what << ": " << contents.size() << " bytes";
  }

  std::string folder_, path_;
  FileSystem old_table_;
};

TEST_P(AtomicFileFaults, AFailedCallLeavesOldOrNew) {
  size_t descriptors = entries("/proc/self/fd");
  for (int error : {ENOSPC, EIO, EDQUOT, EINTR, EROFS}) {
    int call = 1;
    for (;; ++call) {
      start(call, Fault::error, error);
      std::string text = try_to_save();
      std::string what = std::string(strerrorname_np(error)) + " at call " + std::to_string(call) +
                         " (" + text + ")";
      if (!plan.hit) {
        EXPECT_EQ(text, kNoError) << what;
        EXPECT_EQ(read_file(path_), kNew) << what;
        break;
      }
      expect_old_or_new(what);
      bool in_place =
          text == kNoError || text.find("the new file is in place") != std::string::npos;
      EXPECT_EQ(read_file(path_), in_place ? kNew : kOld) << what;
      // Without a lock the file is written all the same.
      if (text != kNoError) {
        EXPECT_NE(text.find(strerrorname_np(error)), std::string::npos) << what;
      }
      for (const auto& entry : std::filesystem::directory_iterator(folder_))
        EXPECT_NE(entry.path().extension(), ".tmp") << what;
      EXPECT_EQ(entries("/proc/self/fd"), descriptors) << what;
    }
    EXPECT_GT(call, 9);  // stat, open, 3 writes, fsync, close, rename, and the folder's three
  }
}

TEST_P(AtomicFileFaults, AFailureThatLastsLeavesOldOrNew) {
  for (int call = 1;; ++call) {
    start(call, Fault::error_from_here_on, EIO);
    std::string text = try_to_save();
    std::string what = "from call " + std::to_string(call);
    expect_old_or_new(what);
    if (!plan.hit) break;
    if (text == kNoError) {
      EXPECT_EQ(read_file(path_), kNew) << what;
    }
  }
}

TEST_P(AtomicFileFaults, AShortWriteIsContinued) {
  for (int call = 1; call < 12; ++call) {
    start(call, Fault::short_write, 0);
    EXPECT_EQ(try_to_save(), kNoError) << call;
    EXPECT_EQ(read_file(path_), kNew) << call;
  }
}

TEST_P(AtomicFileFaults, AWriteWithoutProgressEnds) {
  FileSystem table = kernel_file_system();
  table.write = [](int, const void*, size_t) -> ssize_t { return 0; };
  start(0, Fault::error, 0);
  ScopedFileSystem scope(table);
  EXPECT_NE(error_of([&] { save(path_, kNew, GetParam()); }).find("write, got EIO"),
            std::string::npos);
  EXPECT_EQ(read_file(path_), kOld);
}

TEST_P(AtomicFileFaults, AFailedSyncIsNotRetried) {
  static int syncs;
  syncs = 0;
  FileSystem table = kernel_file_system();
  table.fsync = [](int) {
    ++syncs;
    errno = EIO;
    return -1;
  };
  start(0, Fault::error, 0);
  ScopedFileSystem scope(table);
  EXPECT_NE(error_of([&] { save(path_, kNew, GetParam()); }).find("fsync, got EIO"),
            std::string::npos);
  EXPECT_EQ(syncs, 1);
  EXPECT_EQ(read_file(path_), kOld);
}

TEST_P(AtomicFileFaults, AKilledProcessLeavesOldOrNew) {
  for (Fault fault : {Fault::kill_before, Fault::kill_after}) {
    for (int call = 1;; ++call) {
      start(call, fault, 0);
      pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        std::string text = try_to_save();
        ::_exit(text == kNoError ? 0 : 1);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      expect_old_or_new("killed at call " + std::to_string(call));
      if (!WIFSIGNALED(status)) {
        EXPECT_EQ(WEXITSTATUS(status), 0);
        EXPECT_EQ(read_file(path_), kNew);
        EXPECT_GT(call, 9);
        break;
      }
      EXPECT_EQ(WTERMSIG(status), SIGKILL);
      // The next save isn't disturbed by what the killed one left, which can be removed.
      const bool in_place = read_file(path_) == kNew;
      save(path_, kNewest, GetParam());
      EXPECT_EQ(read_file(path_), kNewest);
      if (GetParam() == 2) {
        EXPECT_EQ(read_file(path_ + ".1"), in_place ? kNew : kOld) << call;
        EXPECT_EQ(read_file(path_ + ".2"), in_place ? kOld : "older") << call;
        EXPECT_FALSE(std::filesystem::exists(path_ + ".3")) << call;
      }
      remove_abandoned(folder_);
      for (const auto& entry : std::filesystem::directory_iterator(folder_))
        EXPECT_NE(entry.path().extension(), ".tmp") << call;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(KeepPrevious, AtomicFileFaults, ::testing::Values(0, 2));

// Commits that were broken off leave several names of one file.
TEST(AtomicFileVersions, GoOnAfterCommitsThatWereBrokenOff) {
  const std::string path = temporary("broken_off") + "/file";
  std::filesystem::create_directory(std::filesystem::path(path).parent_path());
  write_file(path, kOld);
  std::filesystem::create_hard_link(path, path + ".1");
  std::filesystem::create_hard_link(path, path + ".2");
  save(path, kNew, 1);
  EXPECT_EQ(read_file(path), kNew);
  EXPECT_EQ(read_file(path + ".1"), kOld);
  save(path, kOld, 1);
  EXPECT_EQ(read_file(path + ".1"), kNew);
  EXPECT_EQ(entries(std::filesystem::path(path).parent_path()), 2u);
}

// However often a save is broken off, the next one that ends pushes out one version, the oldest.
TEST(AtomicFileVersions, AreLostToNoCommitThatWasBrokenOff) {
  const FileSystem table = faulty_table();
  for (const int keep_previous : {1, 2, 3})
    for (int call = 1;; ++call) {
      const std::string folder = temporary("versions_broken_off"), path = folder + "/file";
      std::filesystem::remove_all(folder);
      std::filesystem::create_directory(folder);
      for (const char* contents : {"first", "second", "third", "fourth"})
        save(path, contents, keep_previous);
      bool hit = false;
      for (int tries = 0; tries < 3; ++tries) {
        plan = {call, Fault::error, EIO, 0, false};
        ScopedFileSystem scope(table);
        if (error_of([&] { save(path, "lost", keep_previous); }) == kNoError) break;
        hit = true;
        if (read_file(path) == "lost") break;
      }
      const std::vector<std::string> before =
          read_file(path) == "lost"
              ? std::vector<std::string>{"lost", "fourth", "third", "second"}
              : std::vector<std::string>{"fourth", "third", "second", "first"};
      save(path, "last", keep_previous);
      for (int version = 1; version <= keep_previous; ++version)
        EXPECT_EQ(read_file(path + "." + std::to_string(version)),
                  before[static_cast<size_t>(version - 1)])
            << "keeping " << keep_previous << ", call " << call;
      EXPECT_EQ(entries(folder), static_cast<size_t>(1 + keep_previous));
      if (!hit && !plan.hit) break;
    }
}

TEST(FileBytesFaults, AFailedCallIsAnError) {
  std::string path = temporary("map_faults");
  write_file(path, kOld);
  size_t descriptors = entries("/proc/self/fd");
  FileSystem table = faulty_table();
  for (int error : {EIO, ENOMEM, EMFILE, EINTR}) {
    for (int call = 1;; ++call) {
      plan = {call, Fault::error, error, 0, false};
      ScopedFileSystem scope(table);
      std::string text = error_of([&] { EXPECT_EQ(as_text(FileBytes::map(path)->bytes()), kOld); });
      EXPECT_EQ(entries("/proc/self/fd"), descriptors);
      if (!plan.hit) break;
      if (text != kNoError) {
        EXPECT_NE(text.find("file must be readable"), std::string::npos) << text;
      }
    }
  }
}

// A disk in memory that remembers what is durable: the contents of a file as of its last fsync, the
// folder as of its own, and, in any selection, the changes of the folder since.
struct Disk {
  struct Inode {
    std::string contents, synced;
  };
  using Folder = std::map<std::string, int>;
  using Change = std::function<void(Folder&)>;

  std::vector<Inode> inodes;
  Folder now, durable;
  std::vector<Change> pending;
  std::vector<int> open_files;  // an inode for each descriptor, -1 for the folder
  bool lying = false;           // a disk whose fsync does nothing
  std::function<void()> after_call;

  void change(const Change& c) {
    c(now);
    pending.push_back(c);
  }

  // What `name` may hold after a power failure now; "(none)" when it isn't there.
  std::set<std::string> after_power_loss(const std::string& name) const {
    std::set<std::string> outcomes;
    for (unsigned selection = 0; selection < 1u << pending.size(); ++selection) {
      Folder folder = durable;
      for (size_t i = 0; i < pending.size(); ++i)
        if (selection >> i & 1) pending[i](folder);
      auto found = folder.find(name);
      if (found == folder.end()) {
        outcomes.insert("(none)");
        continue;
      }
      const Inode& inode = inodes[static_cast<size_t>(found->second)];
      outcomes.insert(inode.synced);
      if (inode.contents != inode.synced) {
        outcomes.insert(inode.contents);
        outcomes.insert(inode.contents.substr(0, inode.contents.size() / 2));
        outcomes.insert(std::string(inode.contents.size(), '\0'));
      }
    }
    return outcomes;
  }
};

Disk* disk = nullptr;

int finish_call(int result) {
  if (disk->after_call) disk->after_call();
  return result;
}

int disk_open(const char* path, int flags, mode_t) {
  if (flags & O_DIRECTORY) {
    disk->open_files.push_back(-1);
  } else {
    int inode = static_cast<int>(disk->inodes.size());
    disk->inodes.emplace_back();
    disk->change([name = std::string(path), inode](Disk::Folder& f) { f[name] = inode; });
    disk->open_files.push_back(inode);
  }
  return finish_call(static_cast<int>(disk->open_files.size()) - 1);
}

int disk_fsync(int descriptor) {
  int inode = disk->open_files[static_cast<size_t>(descriptor)];
  if (disk->lying) return finish_call(0);
  if (inode < 0) {
    disk->durable = disk->now;
    disk->pending.clear();
  } else {
    auto& file = disk->inodes[static_cast<size_t>(inode)];
    file.synced = file.contents;
  }
  return finish_call(0);
}

int disk_rename(const char* from, const char* to) {
  if (!disk->now.contains(from)) {
    errno = ENOENT;
    return finish_call(-1);
  }
  disk->change([a = std::string(from), b = std::string(to)](Disk::Folder& f) {
    auto found = f.find(a);
    if (found == f.end()) return;
    f[b] = found->second;
    f.erase(a);
  });
  return finish_call(0);
}

FileSystem disk_table() {
  FileSystem table = kernel_file_system();
  table.open = disk_open;
  table.fsync = disk_fsync;
  table.rename = disk_rename;
  table.write = [](int d, const void* data, size_t size) {
    auto inode = static_cast<size_t>(disk->open_files[static_cast<size_t>(d)]);
    disk->inodes[inode].contents.append(static_cast<const char*>(data), size);
    finish_call(0);
    return static_cast<ssize_t>(size);
  };
  table.close = [](int) { return finish_call(0); };
  table.link = [](const char* from, const char* to) {
    if (!disk->now.contains(from)) {
      errno = ENOENT;
      return finish_call(-1);
    }
    disk->change([a = std::string(from), b = std::string(to)](Disk::Folder& f) {
      if (auto found = f.find(a); found != f.end()) f[b] = found->second;
    });
    return finish_call(0);
  };
  table.unlink = [](const char* path) {
    disk->change([name = std::string(path)](Disk::Folder& f) { f.erase(name); });
    return finish_call(0);
  };
  table.flock = [](int, int) { return 0; };
  table.fstat = [](int, struct ::stat*) { return -1; };
  table.stat = [](const char* path, struct ::stat* status) {
    const auto found = disk->now.find(path);
    errno = ENOENT;
    if (found == disk->now.end()) return -1;
    *status = {};
    status->st_mode = S_IFREG;
    status->st_ino = static_cast<ino_t>(found->second) + 1;
    return 0;
  };
  return table;
}

// The outcomes at every moment of the second save, and after it.
struct Outcomes {
  std::set<std::string> during, after;
};

Outcomes lose_power(bool lying, int keep_previous) {
  Disk model;
  disk = &model;
  FileSystem table = disk_table();
  ScopedFileSystem scope(table);
  save("file", kOld, keep_previous);
  model.lying = lying;
  Outcomes outcomes;
  model.after_call = [&] { outcomes.during.merge(model.after_power_loss("file")); };
  save("file", kNew, keep_previous);
  outcomes.after = model.after_power_loss("file");
  disk = nullptr;
  return outcomes;
}

TEST(PowerLoss, LeavesOldOrNewAndAfterwardsNew) {
  for (int keep_previous : {0, 1, 3}) {
    Outcomes outcomes = lose_power(false, keep_previous);
    EXPECT_EQ(outcomes.during, (std::set<std::string>{kOld, kNew}));
    EXPECT_EQ(outcomes.after, std::set<std::string>{kNew});
  }
}

// The model must be able to fail: without fsync it finds torn files.
TEST(PowerLoss, TheModelFindsAMissingSync) {
  Outcomes outcomes = lose_power(true, 0);
  EXPECT_TRUE(outcomes.during.contains(""));
  EXPECT_TRUE(outcomes.after.contains(kOld));
}

}  // namespace
}  // namespace aorta::io
