#pragma once

#include <aorta/nn/module.h>

namespace aorta::nn {

/// The hooks of one module, in the order of registration.
struct ModuleHooks {
  struct Entry {
    int64_t id = 0;
    std::function<void(const Module&, std::vector<Tensor>&)> before = {};
    std::function<void(const Module&, const std::vector<Tensor>&, std::vector<Tensor>&)> after = {};
    std::function<void(std::vector<Tensor>&, const std::vector<Tensor>&)> backward = {};
  };

  int64_t add(Entry entry) {
    entry.id = next_id;
    entries.push_back(std::move(entry));
    return next_id++;
  }
  void remove(int64_t id) {
    std::erase_if(entries, [&](const Entry& entry) { return entry.id == id; });
  }

  std::vector<Entry> entries;
  int64_t next_id = 1;
};

}  // namespace aorta::nn
