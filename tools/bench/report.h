#pragma once

#include <aorta/tools/bench/harness.h>

#include <string>
#include <vector>

namespace aorta::bench {

/// Where and with what a table was measured.
struct Machine {
  std::string date, cpu, isa, aorta, onednn, torch, compiler;
  int cpus = 0;
  double load = 0;  // of the last minute
  double seconds = 0;
};
Machine describe_machine(const Settings& settings);

/// The lines above a table: the machine, and the names of the columns of `line`, if `columns`.
std::string header(const std::string& table, const Machine& machine, bool columns = true);
/// A row of the table, with its newline.
std::string line(const Row& row, const Result& result);
/// What stands below it: how to read it, and why cells are empty.
std::string footer(const std::vector<Row>& rows, const std::vector<Result>& results);

/// The whole of it, every block's time included.
std::string to_json(const std::string& table, const Machine& machine, const std::vector<Row>& rows,
                    const std::vector<Result>& results);

}  // namespace aorta::bench
