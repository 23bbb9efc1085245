#include <aorta/core/clock.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/resource_error.h>
#include <aorta/data/reading.h>
#include <aorta/data/sample_error.h>
#include <aorta/data/sample_random.h>
#include <aorta/data/workers/reading_place.h>
#include <aorta/data/workers/worker.h>
#include <aorta/data/workers/worker_steps.h>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <latch>
#include <mutex>
#include <thread>

namespace aorta::data {
namespace {

constexpr int kStopMs = 600;  // what workers have to finish a sample in

WorkerInfo* this_worker = nullptr;

constexpr size_t kWires = 4;  // descriptors that a nursery needs; those of its dataset follow

// The descriptors that the nursery was given, after the ring's two, in their order.
struct Wires {
  explicit Wires(ProcessContext& context)
      : wake_loader(std::move(context.descriptors.at(2))),
        program(std::move(context.descriptors.at(3))) {}
  Descriptor wake_loader, program;
};

void at(WorkerStep step) {
  if (worker_step_hook) worker_step_hook(step);
}

// One thread that reads samples into the ring.
class SampleReader {
 public:
  SampleReader(const WorkerPlan& plan, Ring& ring, const Wires& wires, int worker, int number)
      : plan_(plan),
        ring_(ring),
        wires_(wires),
        worker_(worker),
        number_(number),
        storage_(storage_on(ring.samples())),
        place_(ring.specs(), plan.readers_per_worker()),
        dataset_(dynamic_cast<const Dataset*>(plan.source.get())) {}

  // Before other readers of this worker begin.
  void read_suspects() {
    if (!dataset_) return;
    while (const auto next = ring_.claim_suspect(number_)) read(*next);
  }

  void run() {
    for (;;) {
      const auto next = wait();
      if (!next) return;
      if (dataset_)
        read(*next);
      else
        read_batch(*next);
    }
  }

 private:
  std::optional<Ring::Claim> claim() {
    return dataset_ ? ring_.claim(number_) : ring_.claim_batch(number_, worker_);
  }

  // Waits for a sample to take; none when the loader wants no more.
  std::optional<Ring::Claim> wait() {
    while (!ring_.stopped()) {
      const uint32_t bell = ring_.bell();
      if (auto found = claim()) return found;
      ring_.wait(bell);
    }
    return {};
  }

  Sample fresh_sample(const Ring::Claim& claim, int64_t position) {
    return Sample(ring_.specs(), place_.take(ring_.places(storage_, claim.slot, position)),
                  ring_.reader(number_).file);
  }

  // Puts a sample that is read into its batch, unless some of it went astray.
  void keep(const Ring::Claim& claim, int64_t position, int64_t index, const Sample& sample) {
    try {
      place_.check_edges();
    } catch (...) {
      const auto [type, text] = describe_exception();
      throw SampleError({index, type, text, sample.file()});
    }
    place_.give(sample);
    ring_.put_shapes(claim.slot, position, sample);
  }

  void fail(const Ring::Claim& claim, int64_t position, const SampleError& error) {
    ErrorRecord& record = ring_.error(claim.slot, number_);
    if (record.position >= 0 && record.position < position) return;  // the first one counts
    put_text(record.type, error.fault().type);
    put_text(record.text, error.fault().message);
    put_text(record.file, error.fault().file);
    record.position = position;
  }

  void read(const Ring::Claim& claim) {
    at(WorkerStep::claimed);
    Ring::Slot& slot = ring_.slot(claim.slot);
    const int64_t index = ring_.indices(claim.slot)[claim.position];
    const int64_t start = begin(index);
    bool failed = false;
    try {
      Sample sample = fresh_sample(claim, claim.position);
      read_sample(*dataset_, index, plan_.seed, slot.epoch.load(), sample);
      keep(claim, claim.position, index, sample);
    } catch (const SampleError& error) {
      fail(claim, claim.position, error);
      failed = true;
    }
    end(start);
    at(WorkerStep::read);
    finish(claim, failed);
  }

  // An iterable's batch: as many samples as it has room for, or as the stream has.
  void read_batch(const Ring::Claim& claim) {
    Ring::Slot& slot = ring_.slot(claim.slot);
    const int64_t wanted = slot.count.load();
    bool failed = false;
    int64_t count = 0;
    try {
      start_stream(claim);
      for (; stream_ && count < wanted && !ring_.stopped(); ++count) {
        Sample sample = fresh_sample(claim, count);
        if (!read_on(sample)) break;
        keep(claim, count, -1, sample);
      }
    } catch (const SampleError& error) {
      fail(claim, count, error);
      failed = true;
    }
    slot.ended.store(!stream_ || (!failed && count < wanted));
    slot.count.store(count);
    slot.calls.store(calls_);
    finish(claim, failed);
  }

  // The stream's next sample; false at its end.
  bool read_on(Sample& sample) {
    const int64_t start = begin(read_);
    ++calls_;
    const bool more =
        read_next(*stream_, sample, stream_generator(plan_.seed, epoch_, worker_, read_));
    end(start);
    if (more) ++read_;
    return more;
  }

  void finish(const Ring::Claim& claim, bool failed) {
    ring_.finish(claim, failed);
    at(WorkerStep::finished);
    const bool last = ring_.count_down(claim);
    at(WorkerStep::counted);
    if (last) wake_loader();
    at(WorkerStep::told);
  }

  // A worker that outlives its pass opens a stream for each. One that follows a worker that died
  // reads what that one had given once more, for only the stream knows its order.
  void start_stream(const Ring::Claim& claim) {
    const Ring::Slot& slot = ring_.slot(claim.slot);
    if (pass_ == slot.pass.load()) return;
    stream_.reset();
    pass_ = slot.pass.load();
    epoch_ = slot.epoch.load();
    read_ = calls_ = 0;
    const Ring::Reader& state = ring_.reader(number_);
    const int64_t given = state.pass.load() == pass_ ? state.calls.load() : 0;
    if (given < 0) return;
    stream_ = open_stream(static_cast<const IterableDataset&>(*plan_.source), plan_.seed, epoch_,
                          worker_);
    while (calls_ < given && !ring_.stopped()) {
      try {
        Sample sample = fresh_sample(claim, 0);
        read_on(sample);
      } catch (const SampleError&) {
        // It was said in its batch.
      }
    }
  }

  int64_t begin(int64_t index) {
    Ring::Reader& state = ring_.reader(number_);
    const int64_t start = nanoseconds_now();
    state.file[0] = '\0';
    state.since.store(start);
    state.sample.store(index);
    before_ = stage_times();
    return start;
  }

  void end(int64_t start) {
    Ring::Reader& state = ring_.reader(number_);
    state.sample.store(-1);
    state.busy.fetch_add(nanoseconds_now() - start);
    const StageTimes times = stage_times();
    for (int i = 0; i < kStages; ++i)
      state.stages[i].fetch_add(times.nanoseconds[i] - before_.nanoseconds[i]);
  }

  void wake_loader() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t size = write(wires_.wake_loader.get(), &one, sizeof one);
  }

  const WorkerPlan& plan_;
  Ring& ring_;
  const Wires& wires_;
  int worker_;
  int number_;
  Ref<Storage> storage_;
  ReadingPlace place_;
  const Dataset* dataset_;
  StageTimes before_;  // when the sample was begun
  std::unique_ptr<SampleStream> stream_;
  int64_t pass_ = 0, epoch_ = 0;
  int64_t read_ = 0, calls_ = 0;  // samples that the stream gave, and how often it was asked
};

// Ends this worker by what is being handled.
[[noreturn]] void end_worker(Ring::Reader& reader, int64_t when) {
  static std::mutex mutex;  // of its readers the first one tells
  const std::lock_guard lock(mutex);
  const auto [type, text] = describe_exception();
  put_text(reader.fault.type, type);
  put_text(reader.fault.text, text);
  reader.fault.position = when;
  exit_process(1);
}

void worker_main(const WorkerPlan& plan, Ring& ring, const Wires& wires, int worker) {
  prctl(PR_SET_NAME, ("aorta-work " + std::to_string(worker)).c_str());
  const int threads = plan.readers_per_worker();
  const int first = worker * threads;
  static WorkerInfo info;
  info = {worker, plan.workers, plan.seed + static_cast<uint64_t>(worker)};
  this_worker = &info;
  std::vector<std::unique_ptr<SampleReader>> readers;
  std::vector<std::thread> others;
  std::latch begin_others(1);
  const auto run = [&](auto&& body) {
    try {
      body();
    } catch (...) {
      end_worker(ring.reader(first), Ring::Reader::kLater);
    }
  };
  try {
    manual_seed(info.seed);
    for (int i = 0; i < threads; ++i)
      readers.push_back(std::make_unique<SampleReader>(plan, ring, wires, worker, first + i));
    if (plan.init) plan.init(info);
    at(WorkerStep::started);
    for (int i = 1; i < threads; ++i)
      others.emplace_back([&, i] {
        set_num_threads(1);
        begin_others.wait();
        run([&] { readers[static_cast<size_t>(i)]->run(); });
      });
  } catch (...) {
    end_worker(ring.reader(first), Ring::Reader::kAtStart);
  }
  run([&] {
    readers[0]->read_suspects();
    begin_others.count_down();
    readers[0]->run();
  });
  for (std::thread& thread : others) thread.join();
}

class Nursery {
 public:
  Nursery(const WorkerPlan& plan, ProcessContext& context)
      : plan_(plan),
        channel_(context.channel),
        wires_(context),
        ring_(plan.layout, plan.specs, SharedMemory::open(std::move(context.descriptors.at(0))),
              SharedMemory::open(std::move(context.descriptors.at(1)))) {}

  void run() {
    at(WorkerStep::made);
    workers_.resize(static_cast<size_t>(plan_.workers));
    while (serve()) {
    }
    stop();
  }

 private:
  struct Worker {
    pid_t pid = 0;
    Descriptor pidfd;
  };

  void start(int worker) {
    const pid_t self = getpid();
    const pid_t pid = fork_process();
    if (pid < 0)
      fail_for_resources("data_loader", "a worker process must be startable", errno_text(errno));
    if (pid == 0) {
      die_with_parent(self);
      channel_.close();
      workers_.clear();
      worker_main(plan_, ring_, wires_, worker);
      exit_process(0);
    }
    workers_[static_cast<size_t>(worker)] = {pid, open_pidfd(pid)};
    at(WorkerStep::forked);
    say({NurseryMessage::kStarted, worker, pid});
    at(WorkerStep::announced);
  }

  // The loader may itself wait for room to send, and doesn't read then: what it has no room for is
  // kept, so that its own messages are always read.
  void say(const NurseryMessage& message) {
    unsent_.push_back(message.text());
    send_what_fits();
  }

  void send_what_fits() {
    pollfd room{channel_.descriptor(), POLLOUT, 0};
    while (!unsent_.empty() && poll(&room, 1, 0) > 0) {
      channel_.send(unsent_.front());
      unsent_.pop_front();
    }
  }

  // Waits for an event and handles it; false when the loader wants no more.
  bool serve() {
    send_what_fits();
    const short room = unsent_.empty() ? 0 : POLLOUT;
    std::vector<pollfd> waits{{channel_.descriptor(), static_cast<short>(POLLIN | room), 0},
                              {wires_.program.get(), POLLIN, 0}};
    for (const Worker& worker : workers_) waits.push_back({worker.pidfd.get(), POLLIN, 0});
    if (poll(waits.data(), waits.size(), -1) < 0) return errno == EINTR;
    if (waits[1].revents != 0) exit_process(0);  // the workers end with this process
    reap();
    if ((waits[0].revents & ~POLLOUT) == 0) return true;
    const auto message = channel_.receive();
    if (!message) return false;
    const auto command = NurseryMessage::parse(message->bytes);
    if (command.kind == NurseryMessage::kStart) start(command.worker);
    if (command.kind == NurseryMessage::kQuit) return false;
    if (command.kind == NurseryMessage::kStop) {
      stop();
      say(command);
    }
    return true;
  }

  void reap() {
    for (size_t i = 0; i < workers_.size(); ++i) {
      int status = 0;
      if (workers_[i].pid == 0 || waitpid(workers_[i].pid, &status, WNOHANG) != workers_[i].pid)
        continue;
      say({NurseryMessage::kEnded, static_cast<int32_t>(i), workers_[i].pid, status});
      workers_[i] = Worker();
    }
  }

  // The loader has told the workers, by the ring, to stop.
  void stop() {
    const int64_t end = nanoseconds_now() + kStopMs * int64_t{1'000'000};
    for (Worker& worker : workers_) {
      if (worker.pid == 0) continue;
      pollfd wait{worker.pidfd.get(), POLLIN, 0};
      const int64_t left = std::max<int64_t>(0, (end - nanoseconds_now()) / 1'000'000);
      poll(&wait, 1, static_cast<int>(left));
      kill(worker.pid, SIGKILL);
      waitpid(worker.pid, nullptr, 0);
      worker = Worker();
    }
  }

  const WorkerPlan& plan_;
  Channel& channel_;
  Wires wires_;
  Ring ring_;
  std::vector<Worker> workers_;
  std::deque<std::string> unsent_;  // messages to the loader, in order
};

// What goes wrong before there are workers is for the loader.
template <class Body>
void run_nursery(ProcessContext& context, const Body& body) {
  prctl(PR_SET_NAME, "aorta-nursery");
  try {
    body();
  } catch (...) {
    const auto [type, text] = describe_exception();
    std::string message = NurseryMessage{NurseryMessage::kFault}.text();
    message += text_with_type(type, text);
    context.channel.send(message.substr(0, Channel::kMaxBytes));
    exit_process(1);
  }
}

void forked_nursery(ProcessContext& context) {
  run_nursery(context, [&] {
    const auto* plan = io::load<const WorkerPlan*>(std::as_bytes(std::span(context.payload)), 0);
    Nursery(*plan, context).run();
  });
}

using SpecFields = std::vector<std::pair<std::string, std::pair<DType, std::vector<int64_t>>>>;

void portable_nursery(ProcessContext& context) {
  run_nursery(context, [&] {
    const auto own = std::span(context.descriptors).subspan(kWires);
    ArgumentReader reader(context.payload, own);
    WorkerPlan plan;
    plan.layout.slots = Portable<int32_t>::read(reader);
    plan.layout.readers = Portable<int32_t>::read(reader);
    plan.layout.capacity = Portable<int64_t>::read(reader);
    plan.layout.iterable = Portable<bool>::read(reader);
    plan.workers = Portable<int>::read(reader);
    plan.seed = Portable<uint64_t>::read(reader);
    plan.init = Portable<WorkerInit>::read(reader);
    std::vector<TensorSpec> specs;
    for (const auto& [name, rest] : Portable<SpecFields>::read(reader))
      specs.push_back({name, rest.first, rest.second});
    plan.specs = std::make_shared<const std::vector<TensorSpec>>(std::move(specs));
    plan.source = Recipe::follow(reader);
    context.payload = std::string();
    Nursery(plan, context).run();
  });
}

ArgumentWriter portable_plan(const WorkerPlan& plan) {
  ArgumentWriter writer;
  Portable<int32_t>::write(writer, plan.layout.slots);
  Portable<int32_t>::write(writer, plan.layout.readers);
  Portable<int64_t>::write(writer, plan.layout.capacity);
  Portable<bool>::write(writer, plan.layout.iterable);
  Portable<int>::write(writer, plan.workers);
  Portable<uint64_t>::write(writer, plan.seed);
  Portable<WorkerInit>::write(writer, plan.init);
  SpecFields specs;
  for (const TensorSpec& spec : *plan.specs)
    specs.push_back({spec.name, {spec.dtype, {spec.shape.begin(), spec.shape.end()}}});
  Portable<SpecFields>::write(writer, specs);
  if (plan.source->recipe())
    plan.source->recipe()->write(writer);
  else
    writer.refuse("a dataset that make_dataset didn't make of portable arguments");
  return writer;
}

}  // namespace

const WorkerInfo* worker_info() { return this_worker; }

std::string NurseryMessage::text() const {
  std::string text(1, kind);
  io::append(text, worker);
  io::append(text, pid);
  io::append(text, status);
  return text;
}

NurseryMessage NurseryMessage::parse(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  check(bytes.size() >= kBytes, "data_loader", "a message of workers must be whole", bytes.size());
  return {text[0], io::load<int32_t>(bytes, 1), io::load<int32_t>(bytes, 5),
          io::load<int32_t>(bytes, 9)};
}

StartedProcess start_nursery(const WorkerPlan& plan, std::span<const int> descriptors,
                             StartMethod method) {
  if (method != StartMethod::fork) {
    const ArgumentWriter portable = portable_plan(plan);
    const std::string& refusal = portable.refusal();
    check(method == StartMethod::automatic || refusal.empty(), "data_loader",
          std::string("StartMethod::") + (method == StartMethod::spawn ? "spawn" : "zygote") +
              " needs a dataset that another process can make",
          refusal);
    if (refusal.empty() && (method != StartMethod::automatic || has_zygote_or_says_why())) {
      std::vector<int> all(descriptors.begin(), descriptors.end());
      all.insert(all.end(), portable.descriptors().begin(), portable.descriptors().end());
      return start_process(portable_nursery, portable.text(), all, method);
    }
  }
  std::string payload;
  io::append(payload, &plan);
  return start_process(forked_nursery, payload, descriptors, StartMethod::fork);
}

}  // namespace aorta::data
