#pragma once

#include <aorta/data/byte_source.h>

#include <vector>

/// The bytes of an AVI file, without pixels.
///
///     RIFF 'AVI '
///       LIST 'hdrl'   avih; LIST 'strl' a stream: strh, strf, and indx where the file has
///       OpenDML's LIST 'movi'   the chunks, '00dc' those of stream 0 idx1          the chunks'
///       places, unless indx has them
///     RIFF 'AVIX'     more of 'movi' (OpenDML)
///
/// Sources: Microsoft, "AVI RIFF File Reference"; Matrox, "OpenDML AVI File Format
/// Extensions", 1.02.
namespace aorta::data {

/// Where the frames of a file's first video stream lie.
struct AviIndex {
  struct Frame {
    uint64_t offset = 0;  // of the chunk
    uint32_t size = 0;    // of what is in it; 0 repeats the frame before
  };
  std::string codec;  // four characters, upper case: "MJPG"
  int64_t width = 0;
  int64_t height = 0;
  double fps = 0;  // 0 where the file doesn't say
  int stream = 0;
  std::vector<Frame> frames;
};

/// True for a file that starts as an AVI does.
bool is_avi(const ByteSource& file);
/// Reads the headers and the index, and the heads of all chunks where there is no index. Every
/// frame lies inside the file. Errors: `name: AVI rule, got values at byte N`.
AviIndex parse_avi(const ByteSource& file);
/// The bytes of frame `index`, 0 <= index < frames.size(); they lie in `buffer`, whose memory is
/// reused. An empty frame is the one before it.
std::span<const std::byte> read_avi_frame(const ByteSource& file, const AviIndex& avi,
                                          int64_t index, std::vector<std::byte>& buffer);

}  // namespace aorta::data
