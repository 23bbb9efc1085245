#pragma once

#include <aorta/core/cpu/tiles.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace aorta::cpu {

/// out[i * out_step] = in[i * in_step] for i < count; steps in elements. `stream`: a long run is
/// written past the cache.
template <class Item>
void copy_run(Item* out, int64_t out_step, const Item* in, int64_t in_step, int64_t count,
              bool stream = false) {
  constexpr int64_t item = sizeof(Item);
  if (count <= 0) return;
  if (out_step == 1 && in_step == 1 && stream && count * item >= 256) {
    stream_copy(reinterpret_cast<char*>(out), reinterpret_cast<const char*>(in), count * item);
  } else if (out_step == 1 && in_step == 1) {
    std::memcpy(out, in, static_cast<size_t>(count) * sizeof(Item));
  } else if (out_step == 1 && in_step == 0) {
    std::fill_n(out, count, *in);
  } else if (out_step == 1 && in_step == -1) {
    reverse_copy(reinterpret_cast<char*>(out), reinterpret_cast<const char*>(in - count + 1), count,
                 item);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i * out_step] = in[i * in_step];
  }
}

}  // namespace aorta::cpu
