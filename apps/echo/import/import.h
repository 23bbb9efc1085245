#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aorta::echo {

struct ImportOptions {
  /// Files, and folders that are searched for videos with all below them.
  std::vector<std::string> sources = {};
  std::string output = {};  // a new or empty folder, unless `overwrite`
  /// A table of what is known of the files: FileName (of a source: its path, or its name with or
  /// without suffix) and any of EF, ESV, EDV, Split and Patient; empty: none.
  std::string table = {};
  /// train, val or test; hash: three quarters of the patients train, an eighth each the others, by
  /// a hash of who it is.
  std::string split = "hash";
  /// A table Source,FileName of which file became which video; empty: none. It tells who is who.
  std::string key = {};
  bool overwrite = false;  // replaces what an import wrote
  bool quiet = false;      // no progress bar, and no line a video
};

/// Makes a data set in EchoNet-Dynamic's layout of videos as scanners write them: of each the
/// sector (open_study), resized to 112 x 112 by bicubic convolution, in Videos/NAME.avi, NAME a
/// hash of the file. FileList.csv has EchoNet's columns and PixelSpacing, in millimetres; EF, ESV
/// and EDV are empty where the table doesn't tell them. sectors.csv says what was cut out of each
/// file, removed.csv which attributes of DICOM files were left out: all but those of the pixels,
/// their size and the time between frames.
///
/// The folder appears when all of it is written. What can't be imported is said on stderr and left
/// out; of a folder's files those that are no ultrasound videos are passed over. Throws Failure:
/// usage, storage, data where a file couldn't be imported, the others in place.
void import_videos(const ImportOptions& options);

}  // namespace aorta::echo
