#include <aorta/core/cpu/convolution_plan.h>

#include <aorta/core/body/window.h>
#include <aorta/core/cpu/scratch.h>

#include <algorithm>
#include <span>

namespace aorta::cpu {
namespace {

// Bytes of a row of a strip: 12 rows, a panel, take three quarters of a first-level cache of 32 KB.
constexpr int64_t kStripBytes = 2048;

// Puts `position`, which reads `taps`, into the last segment or into a new one.
void add_position(std::vector<ConvSegment>& segments, int64_t position, int64_t step,
                  int64_t source_step, std::span<const ConvTap> taps, int64_t shift) {
  if (taps.empty()) return;
  if (!segments.empty()) {
    ConvSegment& last = segments.back();
    const bool next =
        last.first % step == position % step && last.first + last.count * step == position;
    if (next && last.taps.size() == taps.size() && last.taps[0].tap == taps[0].tap) {
      ++last.count;
      return;
    }
  }
  segments.push_back({position, 1, step, source_step, {taps.begin(), taps.end()}});
  for (ConvTap& tap : segments.back().taps) tap.source += shift;
}

// Position o reads tap j at o * stride - padding + j * dilation.
std::vector<ConvSegment> forward_segments(const ConvDim& dim) {
  std::vector<ConvTap> all;  // of position 0
  for (int64_t j = 0; j < dim.kernel; ++j) all.push_back({j, j * dim.dilation - dim.padding});
  std::vector<ConvSegment> segments;
  for (int64_t o = 0; o < dim.output; ++o) {
    const body::WindowRange taps = body::taps_reading(dim, o, o);
    if (taps.first >= taps.end) continue;
    add_position(segments, o, 1, dim.stride, {all.begin() + taps.first, all.begin() + taps.end},
                 o * dim.stride);
  }
  return segments;
}

// Positions i = phase, phase + stride, ... read the taps whose j * dilation leaves the same rest.
std::vector<ConvSegment> transposed_segments(const ConvDim& dim) {
  std::vector<ConvSegment> segments;
  for (int64_t phase = 0; phase < std::min(dim.stride, dim.input); ++phase) {
    std::vector<ConvTap> all;  // of position `phase`; sources fall
    for (int64_t j = 0; j < dim.kernel; ++j) {
      const int64_t place = phase + dim.padding - j * dim.dilation;
      if (place % dim.stride == 0) all.push_back({j, place / dim.stride});
    }
    for (int64_t i = phase, q = 0; i < dim.input; i += dim.stride, ++q) {
      const auto inside = [&](const ConvTap& t) {
        return t.source + q >= 0 && t.source + q < dim.output;
      };
      const auto first = std::find_if(all.begin(), all.end(), inside);
      const auto end = std::find_if_not(first, all.end(), inside);
      add_position(segments, i, dim.stride, 1, {first, end}, q);
    }
  }
  return segments;
}

}  // namespace

std::vector<ConvSegment> conv_segments(const ConvDim& dim, bool transposed) {
  return transposed ? transposed_segments(dim) : forward_segments(dim);
}

ConvRegions::ConvRegions(const ConvolutionArgs& args, bool transposed, GemmKind kind)
    : args_(args), kind_(kind) {
  source_channels_ = transposed ? args.y_channels : args.x_channels;
  target_channels_ = transposed ? args.x_channels : args.y_channels;
  channels_ = source_channels_ / args.groups;
  tap_words_ = kind == GemmKind::bf16 ? divide_up(channels_, 2) : channels_;
  merge_ = args.groups == 1 && (kind != GemmKind::bf16 || channels_ % 2 == 0);
  int64_t positions = 1;
  for (int d = 0; d < 3; ++d) {
    const ConvDim& dim = args.dims[d];
    source_sizes_[d] = transposed ? dim.output : dim.input;
    target_sizes_[d] = transposed ? dim.input : dim.output;
    segments_[d] = conv_segments(dim, transposed);
    slots_[d].assign(static_cast<size_t>(dim.kernel), -1);
    int64_t covered = 0;
    for (const ConvSegment& segment : segments_[d]) {
      covered += segment.count;
      for (const ConvTap& tap : segment.taps) slots_[d][static_cast<size_t>(tap.tap)] = 0;
    }
    used_[d] = 0;
    for (int64_t& slot : slots_[d]) {
      if (slot == 0) slot = used_[d]++;
    }
    positions *= covered;
  }
  gaps_ = positions != target_sizes_[0] * target_sizes_[1] * target_sizes_[2];
  for (size_t i = 0; i < slots_[0].size(); ++i) {
    for (size_t j = 0; slots_[0][i] >= 0 && j < slots_[1].size(); ++j) {
      for (size_t k = 0; slots_[1][j] >= 0 && k < slots_[2].size(); ++k) {
        if (slots_[2][k] < 0) continue;
        taps_.push_back(static_cast<int64_t>(i) * args.w_dims[0] +
                        static_cast<int64_t>(j) * args.w_dims[1] +
                        static_cast<int64_t>(k) * args.w_dims[2]);
      }
    }
  }
  for (const ConvSegment& i : segments_[0]) {
    for (const ConvSegment& j : segments_[1]) {
      for (const ConvSegment& k : segments_[2]) {
        const ConvSegment* const segments[] = {&i, &j, &k};
        add_region(segments);
      }
    }
  }
}

void ConvRegions::add_region(const ConvSegment* const* segments) {
  ConvRegion region;
  region.rows = args_.batch;
  for (int d = 0; d < 3; ++d) {
    region.segments[d] = segments[d];
    region.rows *= segments[d]->count;
  }
  const std::vector<ConvPiece> pieces = pieces_of(segments);
  cut_strips(region, pieces);
  regions_.push_back(std::move(region));
}

// From the place that row 0 of the region would read with tap (0, 0, 0)'s source 0; taps along the
// width that are neighbours in memory make one piece.
std::vector<ConvPiece> ConvRegions::pieces_of(const ConvSegment* const* segments) const {
  std::vector<ConvPiece> pieces;
  for (const ConvTap& i : segments[0]->taps) {
    for (const ConvTap& j : segments[1]->taps) {
      const int64_t plane =
          slots_[0][static_cast<size_t>(i.tap)] * used_[1] + slots_[1][static_cast<size_t>(j.tap)];
      bool fresh = true;
      for (const ConvTap& k : segments[2]->taps) {
        const int64_t place =
            (i.source * source_sizes_[1] + j.source) * source_sizes_[2] + k.source;
        const int64_t slot = plane * used_[2] + slots_[2][static_cast<size_t>(k.tap)];
        const ConvPiece piece{place * source_channels_, slot * tap_words_, channels_};
        if (merge_ && !fresh) {
          ConvPiece& last = pieces.back();
          const int64_t words = kind_ == GemmKind::bf16 ? last.size / 2 : last.size;
          if (last.source + last.size == piece.source && last.first + words == piece.first) {
            last.size += channels_;
            continue;
          }
        }
        pieces.push_back(piece);
        fresh = false;
      }
    }
  }
  return pieces;
}

void ConvRegions::cut_strips(ConvRegion& region, const std::vector<ConvPiece>& pieces) const {
  const int64_t per_word = kind_ == GemmKind::bf16 ? 2 : 1;
  const int64_t bytes = kind_ == GemmKind::f64 ? 8 : 4;
  for (const ConvPiece& piece : pieces) region.depth += divide_up(piece.size, per_word);
  const int64_t count = divide_up(region.depth, kStripBytes / bytes);
  const int64_t depth = round_up(divide_up(region.depth, count), 4);
  for (const ConvPiece& piece : pieces) {
    for (int64_t at = 0; at < piece.size;) {
      if (region.strips.empty() || region.strips.back().depth == depth)
        region.strips.emplace_back();
      ConvStrip& strip = region.strips.back();
      const int64_t size = std::min(piece.size - at, (depth - strip.depth) * per_word);
      const ConvPiece part{piece.source + at, piece.first + at / per_word, size};
      const int64_t words = divide_up(size, per_word);
      if (!strip.runs.empty() && strip.runs.back().first + strip.runs.back().k == part.first) {
        strip.runs.back().k += words;
      } else {
        strip.runs.push_back({part.first, words});
      }
      strip.pieces.push_back(part);
      strip.depth += words;
      at += size;
    }
  }
}

void ConvRegions::rows(const ConvRegion& region, int64_t first, int64_t count,
                       ConvRow* rows) const {
  const ConvSegment* const* s = region.segments;
  const int64_t counts[] = {s[0]->count, s[1]->count, s[2]->count};
  ConvPosition at(counts, first);
  for (int64_t row = 0; row < count; ++row, at.advance(counts)) {
    const int64_t source =
        ((at.n * source_sizes_[0] + at.i * s[0]->source_step) * source_sizes_[1] +
         at.j * s[1]->source_step) *
            source_sizes_[2] +
        at.k * s[2]->source_step;
    const int64_t target =
        ((at.n * target_sizes_[0] + s[0]->first + at.i * s[0]->step) * target_sizes_[1] +
         s[1]->first + at.j * s[1]->step) *
            target_sizes_[2] +
        s[2]->first + at.k * s[2]->step;
    rows[row] = {source * source_channels_, target * target_channels_};
  }
}

}  // namespace aorta::cpu
