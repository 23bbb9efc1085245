#include <aorta/core/cpu/winograd_tiles.h>

#include <aorta/core/body/window.h>

namespace aorta::cpu {
namespace {

// Tiles that are transformed at a time, and the numbers that bound them further.
constexpr int64_t kBlockTiles = 384, kBlockNumbers = 6 << 20;

WinogradDim dim_of(const ConvDim& d, bool transposed) {
  if (!transposed) return {d.input, d.output, d.padding, d.dilation};
  return {d.output, d.input, (d.kernel - 1) * d.dilation - d.padding, d.dilation};
}

// Tiles along one dimension; with dilation 2 even and odd positions are images of their own.
struct Line {
  int64_t source, target;  // where the window and the result begin
  int8_t first, end, count;
};

std::vector<Line> lines_of(const WinogradDim& dim) {
  std::vector<Line> lines;
  const int64_t step = dim.dilation;
  for (int64_t phase = 0; phase < std::min(step, dim.target); ++phase) {
    const int64_t targets = divide_up(dim.target - phase, step);
    for (int64_t first = 0; first < targets; first += kWinogradTile) {
      const int64_t target = phase + first * step, source = target - dim.padding;
      Line line{source, target, 0, 0, 0};
      line.count = static_cast<int8_t>(std::min<int64_t>(kWinogradTile, targets - first));
      const int64_t begin = body::steps_below(source, step, 0);
      const int64_t end = body::steps_below(source, step, dim.source);
      line.end = static_cast<int8_t>(std::min<int64_t>(kWinogradWindow, end));
      line.first = static_cast<int8_t>(std::min<int64_t>(line.end, begin));
      lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace

WinogradSizes::WinogradSizes(const ConvolutionArgs& args, bool transposed)
    : frames(dim_of(args.dims[0], transposed)),
      dims{dim_of(args.dims[1], transposed), dim_of(args.dims[2], transposed)},
      batch(args.batch),
      taps(args.dims[0].kernel),
      source_channels(transposed ? args.y_channels : args.x_channels),
      target_channels(transposed ? args.x_channels : args.y_channels) {}

WinogradSteps::WinogradSteps(const WinogradSizes& s) {
  const int64_t down = s.dims[0].dilation, across = s.dims[1].dilation;
  source[0] = down * s.dims[1].source * s.source_channels;
  source[1] = across * s.source_channels;
  target[0] = down * s.dims[1].target * s.target_channels;
  target[1] = across * s.target_channels;
}

std::vector<WinogradTile> tiles_of(const WinogradSizes& sizes, int64_t tap) {
  const std::vector<Line> down = lines_of(sizes.dims[0]), across = lines_of(sizes.dims[1]);
  const WinogradDim &frames = sizes.frames, &h = sizes.dims[0], &w = sizes.dims[1];
  std::vector<WinogradTile> tiles;
  tiles.reserve(static_cast<size_t>(sizes.batch * frames.target) * down.size() * across.size());
  for (int64_t frame = 0; frame < sizes.batch * frames.target; ++frame) {
    const int64_t clip = frame / frames.target;
    const int64_t read = frame % frames.target - frames.padding + tap * frames.dilation;
    const bool inside = 0 <= read && read < frames.source;
    const int64_t from = clip * frames.source + (inside ? read : 0);
    for (const Line& i : down) {
      for (const Line& j : across) {
        const int64_t source = (from * h.source + i.source) * w.source + j.source;
        const int64_t target = (frame * h.target + i.target) * w.target + j.target;
        WinogradTile tile{source * sizes.source_channels,
                          target * sizes.target_channels,
                          {i.first, j.first},
                          {i.end, j.end},
                          {i.count, j.count}};
        if (!inside) tile.end[0] = tile.end[1] = 0;
        tiles.push_back(tile);
      }
    }
  }
  return tiles;
}

Grid winograd_grid(int64_t lines, int64_t columns, int64_t line_numbers, int64_t column_numbers) {
  return best_grid(get_num_threads(), [&](const Grid& grid) {
    // Numbers of a thread: products, and operands, of which it fetches what others made.
    const int64_t rows = divide_up(lines, grid.down), width = divide_up(columns, grid.across);
    const int64_t fetched =
        (grid.down > 1 ? width * column_numbers : 0) + (grid.across > 1 ? rows * line_numbers : 0);
    return rows * width * 64 + fetched;
  });
}

std::vector<GemmRun> runs_of(int64_t steps) {
  std::vector<GemmRun> runs;
  for (int64_t first = 0; first < steps; first += kRunSteps)
    runs.push_back({first, std::min(kRunSteps, steps - first)});
  return runs;
}

int64_t block_tiles(int64_t tiles, int64_t numbers_a_tile, int rows) {
  const int64_t most = std::clamp<int64_t>(kBlockNumbers / numbers_a_tile, 16 * rows, kBlockTiles);
  const int64_t blocks = divide_up(tiles, most);
  return round_up(divide_up(tiles, blocks), rows);
}

}  // namespace aorta::cpu
