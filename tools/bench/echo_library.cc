// libecho_reader.so: Aorta's reading of a segmentation sample as a C function, for the loaders of
// others.
#include <aorta/data/datasets/echo.h>

#include <cstring>

using aorta::data::Echo;
using aorta::data::EchoOptions;

extern "C" {

void* echo_open(const char* folder) {
  try {
    return new Echo(folder, EchoOptions::segmentation(aorta::data::EchoSplit::all));
  } catch (const std::exception&) {
    return nullptr;
  }
}

int64_t echo_size(const void* echo) { return static_cast<const Echo*>(echo)->size(); }

/// Frames u8 (3, H, W) and masks u8 (H, W), the large one first; not 0 when the sample can't be
/// read.
int echo_read(const void* echo, int64_t index, void* large_frame, void* small_frame,
              void* large_mask, void* small_mask) {
  try {
    const auto sample = static_cast<const Echo*>(echo)->sample(index);
    const std::pair<const char*, void*> places[] = {{"LargeFrame", large_frame},
                                                    {"SmallFrame", small_frame},
                                                    {"LargeTrace", large_mask},
                                                    {"SmallTrace", small_mask}};
    for (const auto& [name, place] : places)
      std::memcpy(place, sample[name].data(), static_cast<size_t>(sample[name].nbytes()));
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}
}
