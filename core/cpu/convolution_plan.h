#pragma once

#include <aorta/core/cpu/gemm.h>
#include <aorta/core/ops/convolution.h>

#include <vector>

namespace aorta::cpu {

// How a convolution becomes matrix products without padding: its result is cut into regions whose
// positions all read the same taps of the kernel. A region is a product of (positions x taps *
// channels) by (taps * channels x result channels).

/// A tap of the kernel along one dimension, and where the first position of a segment reads.
struct ConvTap {
  int64_t tap, source;
};

/// Positions first, first + step, ... of the result along one dimension. The i-th reads its taps at
/// source + i * source_step.
struct ConvSegment {
  int64_t first, count, step, source_step;
  std::vector<ConvTap> taps;
};

/// The positions of y, or of x when `transposed`, that read something; every one is in one segment.
std::vector<ConvSegment> conv_segments(const ConvDim& dim, bool transposed);

/// `size` consecutive numbers that a row reads, `source` elements after the row's start; the
/// weights are the words from `first` on of b's panels.
struct ConvPiece {
  int64_t source, first, size;
};

/// Steps of the sum that are packed at a time.
struct ConvStrip {
  int64_t depth = 0;  // in words
  std::vector<ConvPiece> pieces;
  std::vector<GemmRun> runs;  // the pieces' words
};

struct ConvRegion {
  const ConvSegment* segments[3];
  int64_t rows = 0;   // positions, of the whole batch
  int64_t depth = 0;  // words of the sum
  std::vector<ConvStrip> strips;
};

/// Where a row of a region begins, in elements of the source and of the result.
struct ConvRow {
  int64_t source, target;
};

/// Position number `number` of images of counts[0] x counts[1] x counts[2], and those that follow.
struct ConvPosition {
  ConvPosition(const int64_t* counts, int64_t number)
      : n(number / counts[2] / counts[1] / counts[0]),
        i(number / counts[2] / counts[1] % counts[0]),
        j(number / counts[2] % counts[1]),
        k(number % counts[2]) {}
  void advance(const int64_t* counts) {
    if (++k < counts[2]) return;
    k = 0;
    if (++j < counts[1]) return;
    j = 0;
    if (++i < counts[0]) return;
    i = 0;
    ++n;
  }
  int64_t n, i, j, k;
};

/// The division of one convolution, for all of its groups.
class ConvRegions {
 public:
  ConvRegions(const ConvolutionArgs& args, bool transposed, GemmKind kind);

  /// Regions that read something.
  const std::vector<ConvRegion>& regions() const { return regions_; }
  /// Whether there are positions that read nothing.
  bool leaves_gaps() const { return gaps_; }
  /// Words of a panel of b, and of those a tap's.
  int64_t depth() const { return static_cast<int64_t>(taps_.size()) * tap_words_; }
  int64_t tap_words() const { return tap_words_; }
  /// The taps that are used, in the order of b's words, as offsets in elements of the weights.
  const std::vector<int64_t>& taps() const { return taps_; }
  /// The rows [first, first + count) of a region, in group 0.
  void rows(const ConvRegion& region, int64_t first, int64_t count, ConvRow* rows) const;

 private:
  void add_region(const ConvSegment* const* segments);
  std::vector<ConvPiece> pieces_of(const ConvSegment* const* segments) const;
  void cut_strips(ConvRegion& region, const std::vector<ConvPiece>& pieces) const;

  const ConvolutionArgs& args_;
  const GemmKind kind_;
  int64_t source_sizes_[3], target_sizes_[3];
  int64_t source_channels_, target_channels_;  // in all groups
  int64_t channels_;                           // of the source in one group
  int64_t tap_words_;
  bool merge_;  // neighbours along the width are neighbours in memory
  bool gaps_ = false;
  std::vector<ConvSegment> segments_[3];
  std::vector<int64_t> slots_[3];  // by tap: its number among those used, or -1
  int64_t used_[3];
  std::vector<int64_t> taps_;
  std::vector<ConvRegion> regions_;
};

}  // namespace aorta::cpu
