#pragma once

#include <string>

namespace aorta::echo {

struct ExportOptions {
  std::string weights;        // a run's folder, or a file that a run wrote
  std::string output;         // .safetensors or .npz
  std::string dtype = "f32";  // or f16, which takes half the room
  bool overwrite = false;
};

/// Writes the weights of a segmenter with torchvision's names, and says how PyTorch reads them.
/// Throws Failure.
void export_weights(const ExportOptions& options);

}  // namespace aorta::echo
