#pragma once

#include <aorta/apps/echo/console.h>
#include <aorta/apps/echo/history.h>
#include <aorta/apps/echo/run_folder.h>

namespace aorta::echo {

/// A plot of a run: its file in the folder, what is in it and what the report says of it.
struct Figure {
  std::string file, svg, caption;
};

/// What a command that trains does in its own way; run() does the rest.
class Job {
 public:
  virtual ~Job() = default;

  virtual const RunOptions& options() const = 0;
  /// What it is called on the command line.
  virtual const char* command() const = 0;
  /// The text of args.yaml.
  virtual std::string args() const = 0;
  /// Throws Failure for data of splits that are read at the end alone.
  virtual void check_data() const = 0;
  /// Makes what trains, from a checkpoint where there is one; loop() is it from here on.
  virtual void begin(const State* checkpoint) = 0;
  virtual TrainingLoop& loop() = 0;
  /// The bytes that a run's folder holds when it holds most.
  virtual int64_t bytes() = 0;

  /// What stands behind the bar, in few letters.
  virtual std::string status(const Totals& totals) const = 0;
  /// An epoch in a line.
  virtual std::string summary(const Totals& train, const Totals& validation) const = 0;
  /// What the log alone has of an epoch, and what a person is warned of; empty for nothing.
  virtual std::string note(const Totals&) const { return ""; }
  virtual std::string warning(const Totals&, const Totals&) { return ""; }
  virtual std::vector<Figure> figures(const History& history) const = 0;
  /// What the network makes of a few samples, u8 (3, H, W); undefined for none.
  virtual Tensor picture() const { return {}; }

  /// Evaluates the best weights, which lie in the folder, writes the files and says how good they
  /// are. `shown` gives what evaluations call with how far they are.
  virtual void evaluate(
      const RunFolder& folder, Console& console,
      const std::function<std::function<void(int64_t, int64_t)>(const std::string& label)>&
          shown) = 0;
  /// report.html, after evaluate().
  virtual void write_report(const RunFolder& folder, const History& history) = 0;
};

}  // namespace aorta::echo
