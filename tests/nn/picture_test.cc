// What a person sees of a network: the summary and the picture of a call.
#include <aorta/nn/graph_layout.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>

#include <cmath>

namespace aorta::nn {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

TEST(Summary, IsATable) {
  Sequential net(Conv2d(1, 4, 3), ReLU(), Flatten(), Linear(16, 2));
  net[3].requires_grad_(false);
  EXPECT_EQ(net.summary(zeros({5, 1, 4, 4})),
            "module        output        parameters    multiply-adds\n"
            "Sequential    [5,2]                 74              880\n"
            "  0: Conv2d   [5,4,2,2]             40              720\n"
            "  1: ReLU     [5,4,2,2]              0\n"
            "  2: Flatten  [5,16]                 0\n"
            "  3: Linear   [5,2]                 34              160\n"
            "74 parameters, 40 of them trained; 880 multiply-adds for input [5,1,4,4]\n");
  EXPECT_EQ(count(net.summary(), "880"), 0u);
}

TEST(Summary, ResNetsHaveTheirPublishedCosts) {
  // He et al. 2015, table 1: 1.8 and 3.8 x 10^9 multiply-adds; 4.1 with the stride in the 3x3
  // convolutions, as torchvision has it. The exact numbers are sums over the layers' sizes.
  const nn::AnyModule resnet18 = models::make("resnet18");
  const std::vector<ModuleSummary> rows = summarize(*resnet18, zeros({1, 3, 224, 224}));
  EXPECT_EQ(rows[0].multiply_adds, 1814073344);
  EXPECT_EQ(rows[0].parameters, 11689512);
  EXPECT_EQ(rows[0].output_shapes[0], (Shape{1, 1000}));
  const nn::AnyModule resnet50 = models::make("resnet50");
  EXPECT_EQ(summarize(*resnet50, zeros({1, 3, 224, 224}))[0].multiply_adds, 4089184256);
}

TEST(Summary, OfNoPositionsCostsNothing) {
  MultiheadAttention attention(4, 2);
  EXPECT_EQ(summarize(attention, zeros({0, 3, 4}))[0].multiply_adds, 0);
}

TEST(Summary, LeavesTheModuleAsItWas) {
  Sequential net(BatchNorm1d(3), Sequential(Dropout(0.5)));
  net[0].eval();
  net.summary(randn({4, 3}));
  EXPECT_TRUE(net.is_training() && net[1].is_training());
  EXPECT_FALSE(net[0].is_training());
  EXPECT_EQ(net.named_buffers()[2].second.item<int64_t>(), 0);  // no batch was counted
  int calls = 0;
  HookHandle hook = net.register_forward_hook(
      [&](const Module&, const std::vector<Tensor>&, std::vector<Tensor>&) { ++calls; });
  net(randn({4, 3}));
  EXPECT_EQ(calls, 1);
}

struct Pairing : Module {
  Bilinear form{*this, "form", 3, 4, 5};
  Tensor forward(const Tensor& x) const override {
    return form(x.narrow(1, 0, 3), x.narrow(1, 3, 4));
  }
};

// (2, 3) times (3, 5 4), and each (5, 4) of that times (4).
TEST(Summary, CountsBothProductsOfABilinearForm) {
  Pairing net;
  EXPECT_EQ(summarize(net, randn({2, 7}))[0].multiply_adds, 2 * 3 * 20 + 2 * 5 * 4);
}

struct Residual : Module {
  Linear first{*this, "first", 3, 3};
  Sequential body{*this, "body", Linear(3, 3), Tanh()};
  Tensor forward(const Tensor& x) const override {
    const Tensor y = first(x);
    return y + body(y);
  }
};

TEST(DrawGraph, ShowsModulesFunctionsAndTensors) {
  const Residual net;
  const std::string svg = draw_graph(net, randn({2, 3}));
  EXPECT_EQ(count(svg, "fill=\"#cfe2f3\""), 3u);  // first, body.0, body.1
  EXPECT_EQ(count(svg, "fill=\"#eeeeee\""), 1u);  // add
  EXPECT_EQ(count(svg, "fill=\"#d9ead3\""), 2u);  // input, output
  EXPECT_EQ(count(svg, "marker-end"), 6u);
  EXPECT_EQ(count(svg, ">body.1</text>"), 1u);
  EXPECT_EQ(count(svg, ">Linear  12 parameters</text>"), 2u);
  EXPECT_EQ(count(svg, ">[2,3]</text>"), 5u);  // once where two arrows start
  const std::string shallow = draw_graph(net, randn({2, 3}), 1);
  EXPECT_EQ(count(shallow, "fill=\"#cfe2f3\""), 2u);  // first, body
  EXPECT_EQ(count(shallow, ">Sequential  12 parameters</text>"), 1u);
  EXPECT_EQ(count(shallow, "fill=\"#eeeeee\""), 1u);  // add belongs to the network itself
}

TEST(DrawGraph, AModuleThatIsCalledTwiceHasTwoBoxes) {
  struct Twice : Module {
    Linear linear{*this, "linear", 3, 3};
    Tensor forward(const Tensor& x) const override { return linear(tanh(linear(x))); }
  };
  const std::string svg = draw_graph(Twice(), randn({2, 3}));
  EXPECT_EQ(count(svg, ">linear</text>"), 2u);
  EXPECT_EQ(count(svg, ">tanh</text>"), 1u);
}

TEST(DrawGraph, NeedsAGraph) {
  const Tensor index = zeros({1}, {.dtype = DType::i64});
  draw_graph(Embedding(3, 2), index);
  Embedding frozen(3, 2);
  frozen.requires_grad_(false);
  EXPECT_EQ(error_of([&] { draw_graph(frozen, index); }),
            "draw_graph: something that the module computes must require a gradient, got [1,2]");
}

TEST(GraphLayout, ArrowsPointDownAndBoxesDoNotOverlap) {
  // A diamond with an arrow over two layers and a second source.
  std::vector<GraphBox> boxes(6, {.width = 50, .height = 20});
  std::vector<GraphArrow> arrows;
  for (const auto& [from, to] : std::vector<std::pair<size_t, size_t>>{
           {0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 3}, {3, 4}, {5, 4}, {0, 4}}) {
    arrows.push_back({from, to, {}, {}});
  }
  const GraphSize size = lay_out(boxes, arrows);
  for (const GraphArrow& arrow : arrows) {
    EXPECT_LT(boxes[arrow.from].y, boxes[arrow.to].y);
    EXPECT_EQ(arrow.x.front(), boxes[arrow.from].x);
    EXPECT_EQ(arrow.y.back(), boxes[arrow.to].y - 10);
  }
  for (size_t i = 0; i < boxes.size(); ++i) {
    EXPECT_TRUE(boxes[i].x >= 25 && boxes[i].x <= size.width - 25 &&
                boxes[i].y <= size.height - 10);
    for (size_t j = 0; j < i; ++j) {
      const bool apart =
          std::abs(boxes[i].x - boxes[j].x) >= 50 || std::abs(boxes[i].y - boxes[j].y) >= 20;
      EXPECT_TRUE(apart) << i << " and " << j;
    }
  }
}

}  // namespace
}  // namespace aorta::nn
