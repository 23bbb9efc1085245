#include <aorta/core/io/load_save.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/process/portable.h>
#include <aorta/data/images/transforms.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include <aorta/tests/error_text.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

// torchvision's results; tests/fixtures/make_transforms.py has the same list.
const std::map<std::string, Tensor>& fixtures() {
  static const std::map<std::string, Tensor> all = [] {
    std::map<std::string, Tensor> tensors;
    for (const auto& [name, tensor] : load("tests/fixtures/data/transforms.npz"))
      tensors.emplace(name, tensor);
    return tensors;
  }();
  return all;
}

struct Case {
  Transform transform;
  double u8_off = 0, f32_off = 1e-6;  // how far an element may be off
};

std::map<std::string, Case> cases() {
  const auto only = [](double factor) { return Range{factor, factor}; };
  std::map<std::string, Case> all{
      // Coordinates are f32 there and f64 here: 1e-5 of a pixel, where neighbours differ by up
      // to 1.
      {"affine_turn", {Affine{.angle = 33}, 1, 2e-5}},
      {"affine_all",
       {Affine{.angle = -17, .translate = {2, -1}, .scale = 1.2, .shear = {8, -5}}, 1, 2e-5}},
      {"affine_small", {Affine{.angle = 75, .translate = {0, 1}, .scale = 0.6}, 1, 2e-5}},
      {"affine_center", {Affine{.angle = 40, .center = {4, 3}}, 1, 2e-5}},
      {"pad_edge", {Pad{.padding = {3, 2, 4, 5}, .padding_mode = PaddingMode::edge}}},
      {"pad_reflect", {Pad{.padding = {3, 2, 4, 5}, .padding_mode = PaddingMode::reflect}}},
      {"pad_symmetric", {Pad{.padding = {3, 2, 4, 5}, .padding_mode = PaddingMode::symmetric}}},
      {"pad_constant", {Pad{.padding = {3, 2, 4, 5}, .fill = 1}}},
      {"center_crop_odd", {CenterCrop{8}}},
      {"center_crop_wide", {CenterCrop{{6, 20}}}},
      {"center_crop_large", {CenterCrop{{20, 21}}}},
      {"center_crop_high", {CenterCrop{{18, 4}}}},
      {"flip_horizontal", {RandomHorizontalFlip{.p = 1}}},
      {"flip_vertical", {RandomVerticalFlip{.p = 1}}},
      {"resize_shorter", {Resize{.shorter_edge = 7}, 1}},
      {"brightness", {ColorJitter{.brightness = only(1.3)}}},
      {"contrast_up", {ColorJitter{.contrast = only(1.6)}}},
      {"contrast_down", {ColorJitter{.contrast = only(0.4)}}},
      {"contrast_grey", {ColorJitter{.contrast = only(0.4)}}},
      {"saturation", {ColorJitter{.saturation = only(1.7)}}},
      {"hue", {ColorJitter{.hue = only(0.3)}, 1, 1e-5}},
      {"hue_back", {ColorJitter{.hue = only(-0.45)}, 1, 1e-5}},
      {"gamma", {RandomGamma{only(0.6)}, 1}},
  };
  const std::pair<const char*, FrameSize> sizes[] = {
      {"down", {5, 7}}, {"up", {31, 40}}, {"mixed", {9, 33}}, {"small", {2, 3}}};
  for (const auto& [name, size] : sizes) {
    // torchvision's u8 weights have 8 bits or so.
    all[std::string("resize_") + name] = {Resize{.size = size}, 1};
    all[std::string("resize_plain_") + name] = {Resize{.size = size, .antialias = false}, 1};
  }
  return all;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  if (!(a.shape() == b.shape())) return INFINITY;
  return max(abs(a.to(f64) - b.to(f64))).item<double>();
}

TEST(Transforms, GiveTorchvisionsImages) {
  const auto& all = fixtures();
  size_t compared = 0;
  for (const auto& [name, one] : cases()) {
    const Transforms transforms{one.transform};
    for (const bool bytes : {true, false}) {
      Tensor image = bytes ? all.at("image") : all.at("float.f32");
      if (name == "contrast_grey") image = image.narrow(0, 0, 1);
      const Tensor result = transforms(image);
      const Tensor& expected = all.at(name + (bytes ? ".u8" : ".f32"));
      EXPECT_EQ(result.dtype(), expected.dtype()) << name;
      EXPECT_LE(largest_difference(result, expected), bytes ? one.u8_off : one.f32_off)
          << name << (bytes ? " u8" : " f32");
      ++compared;
    }
  }
  size_t given = 0;
  for (const auto& [name, tensor] : all) given += name.ends_with(".u8") || name.ends_with(".f32");
  EXPECT_EQ(compared, given - 2);  // float and normalize stand below
}

TEST(Transforms, GiveTorchvisionsMasks) {
  const auto& all = fixtures();
  const std::map<std::string, Case> transforms = cases();
  for (const auto& [name, expected] : all) {
    if (!name.ends_with(".mask")) continue;
    const Transforms one{transforms.at(name.substr(0, name.size() - 5)).transform};
    for (const DType dtype : {u8, i64, f32, i32, DType::boolean, f64, f16}) {
      const Views out = one({.masks = {all.at("mask").to(dtype)}});
      EXPECT_EQ(out.masks[0].dtype(), dtype);
      const Tensor wrong = ne(out.masks[0], expected.to(dtype)).to(f64);
      EXPECT_EQ(wrong.shape(), expected.shape());
      EXPECT_LE(sum(wrong).item<double>(), 0) << name;
    }
  }
}

TEST(ToFloat, AndNormalizeAreTorchvisions) {
  const auto& all = fixtures();
  EXPECT_EQ(largest_difference(Transforms{ToFloat{}}(all.at("image")), all.at("float.f32")), 0);
  const Transforms both{ToFloat{}, Normalize{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}};
  EXPECT_EQ(both.dtype_after(u8), f32);
  EXPECT_LE(largest_difference(both(all.at("image")), all.at("normalize.f32")), 1e-6);
  EXPECT_LE(largest_difference(both(all.at("float.f32")), all.at("normalize.f32")), 1e-6);
}

// A Gaussian spot of 3 pixels' width in a picture of 48 x 64 follows its point: the centroid of
// what comes out is where the point says. Where the spot's edge is cut nothing can be said.
Tensor spot(double x, double y) {
  const Tensor image = zeros({1, 48, 64});
  for (int64_t row = 0; row < 48; ++row)
    for (int64_t column = 0; column < 64; ++column)
      image.at<float>({0, row, column}) =
          static_cast<float>(std::exp(-(std::pow(static_cast<double>(column) - x, 2) +
                                        std::pow(static_cast<double>(row) - y, 2)) /
                                      18));
  return image;
}

std::pair<double, double> centroid(const Tensor& image) {
  double sum = 0, x = 0, y = 0;
  for (int64_t row = 0; row < image.size(1); ++row) {
    for (int64_t column = 0; column < image.size(2); ++column) {
      const double value = image.at<float>({0, row, column});
      sum += value;
      x += value * static_cast<double>(column);
      y += value * static_cast<double>(row);
    }
  }
  return {x / sum, y / sum};
}

TEST(Points, MoveWithTheImage) {
  const std::vector<Transform> moving{
      CenterCrop{{40, 45}},
      RandomCrop{.size = {44, 60}, .padding = {4, 6}},
      Pad{.padding = {3, 5, 1, 2}},
      RandomHorizontalFlip{},
      RandomVerticalFlip{},
      Affine{.angle = 20, .translate = {-3, 4}, .scale = 0.9, .shear = {6, 4}, .center = {30, 20}},
      RandomAffine{.degrees = {-40, 40},
                   .translate = {0.05, 0.05},
                   .scale = {0.8, 1.1},
                   .shear = {-8, 8},
                   .shear_y = {-4, 4}},
      Resize{.size = {96, 100}},
      Resize{.size = {31, 33}},
      Resize{.shorter_edge = 61},
      RandomResizedCrop{.size = {50, 52}, .scale = {0.8, 1}}};
  std::vector<Transforms> lists;
  for (const Transform& transform : moving) lists.push_back(Transforms{transform});
  lists.push_back(Transforms(std::vector<Transform>{moving[6], moving[1], moving[3], moving[7]}));
  lists.push_back(Transforms(std::vector<Transform>{moving[5], moving[4], moving[10]}));
  const Tensor image = spot(33.25, 22.5);
  for (const DType dtype : {f32, f64}) {
    const Tensor point = tensor({{33.25, 22.5}}, {.dtype = dtype});
    Generator random(7);
    for (size_t i = 0; i < lists.size(); ++i) {
      for (int draw = 0; draw < 5; ++draw) {
        const Views out = lists[i]({.images = {image}, .points = {point}}, random);
        const auto [x, y] = centroid(out.images[0]);
        EXPECT_EQ(out.points[0].dtype(), dtype);
        EXPECT_NEAR(out.points[0].to_vector<double>()[0], x, 0.06) << i;
        EXPECT_NEAR(out.points[0].to_vector<double>()[1], y, 0.06) << i;
      }
    }
  }
  EXPECT_EQ(image.to_vector<float>(), spot(33.25, 22.5).to_vector<float>());  // left as it was
}

TEST(Points, FollowClosedForms) {
  const auto moved = [](const Transform& transform, double x, double y) {
    const Views out = Transforms{transform}(
        {.masks = {zeros({10, 20}, {.dtype = u8})}, .points = {tensor({x, y}, {.dtype = f64})}});
    return out.points[0].to_vector<double>();
  };
  using Point = std::vector<double>;
  EXPECT_EQ(moved(RandomHorizontalFlip{.p = 1}, 0, 4), (Point{19, 4}));
  EXPECT_EQ(moved(RandomVerticalFlip{.p = 1}, 0, 4), (Point{0, 5}));
  EXPECT_EQ(moved(RandomHorizontalFlip{.p = 0}, 0, 4), (Point{0, 4}));
  EXPECT_EQ(moved(Pad{.padding = {3, 1, 9, 9}}, 2, 2), (Point{5, 3}));
  EXPECT_EQ(moved(CenterCrop{{4, 6}}, 7, 3), (Point{0, 0}));
  EXPECT_EQ(moved(CenterCrop{{4, 6}}, 0, 0), (Point{-7, -3}));  // it stays, outside
  EXPECT_EQ(moved(Resize{.size = {20, 10}}, -0.5, -0.5), (Point{-0.5, -0.5}));
  EXPECT_EQ(moved(Resize{.size = {20, 10}}, 19.5, 9.5), (Point{9.5, 19.5}));
  // A quarter turn clockwise about (9.5, 4.5): right becomes down.
  const Point turned = moved(Affine{.angle = 90}, 12.5, 4.5);
  EXPECT_NEAR(turned[0], 9.5, 1e-12);
  EXPECT_NEAR(turned[1], 7.5, 1e-12);
  const Point grown = moved(Affine{.translate = {1, -2}, .scale = 2, .center = {1, 1}}, 3, 2);
  EXPECT_EQ(grown, (Point{1 + 2 * 2 + 1, 1 + 2 * 1 - 2}));
}

// Image and mask of the same values: every draw moves both alike.
TEST(Transforms, DrawOnceForASample) {
  Generator noise(1);
  const Tensor picture = randint(0, 255, {24, 30}, {.dtype = u8}, &noise);
  const Transforms moves{
      RandomCrop{.size = {20, 28}, .padding = 4}, RandomHorizontalFlip{}, RandomVerticalFlip{},
      RandomAffine{
          .degrees = {-30, 30}, .translate = {0.1, 0.2}, .interpolation = Interpolation::nearest}};
  std::vector<std::vector<int>> seen;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Generator random(seed), again(seed);
    const Views views{.images = {picture, picture.unsqueeze(0)}, .masks = {picture}};
    const Views out = moves(views, random);
    EXPECT_EQ(out.images[0].shape(), (Shape{20, 28}));
    EXPECT_EQ(out.images[0].to_vector<int>(), out.masks[0].to_vector<int>());
    EXPECT_EQ(out.images[0].to_vector<int>(), out.images[1].to_vector<int>());
    EXPECT_EQ(moves(views, again).masks[0].to_vector<int>(), out.masks[0].to_vector<int>());
    seen.push_back(out.masks[0].to_vector<int>());
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

// A crop is a window of the padded picture, and every place comes as often.
TEST(RandomCrop, TakesEveryPlace) {
  const Tensor picture = arange(1, 13).reshape({3, 4}).to(f32);
  const Transforms crop{RandomCrop{.size = {2, 2}, .padding = 1}};
  Generator random(3);
  std::map<std::vector<int>, int> counts;
  for (int i = 0; i < 4000; ++i) ++counts[crop(picture, random).to_vector<int>()];
  EXPECT_EQ(counts.size(), 20u);  // 4 x 5 places
  for (const auto& [window, count] : counts) EXPECT_NEAR(count, 200, 5 * std::sqrt(200.));
  EXPECT_TRUE(counts.contains({0, 0, 0, 1}));
  EXPECT_TRUE(counts.contains({6, 7, 10, 11}));
  EXPECT_TRUE(counts.contains({12, 0, 0, 0}));
}

TEST(RandomCrop, PadsOnlyIfNeeded) {
  const Tensor picture = full({3, 4}, 1.f);
  EXPECT_EQ(error_of([&] { Transforms{RandomCrop{.size = 4}}(picture); }),
            "random_crop: the size can't be larger than the padded image, got 4 x 4 of 3 x 4");
  const Tensor padded =
      Transforms{RandomCrop{.size = 4, .pad_if_needed = true, .fill = 5}}(picture);
  EXPECT_EQ(padded.shape(), (Shape{4, 4}));
  EXPECT_EQ(sum(padded).item<double>(), 12 + 4 * 5);
}

TEST(RandomHorizontalFlip, FollowsItsProbability) {
  const Tensor picture = tensor({{1.f, 2.f}});
  const Transforms flip{RandomHorizontalFlip{.p = 0.3}};
  Generator random(2);
  int flipped = 0;
  for (int i = 0; i < 2000; ++i) flipped += flip(picture, random).at<float>({0, 0}) == 2;
  EXPECT_NEAR(flipped, 600, 5 * std::sqrt(2000 * 0.3 * 0.7));
}

// Transforming a video transforms each of its frames alike.
TEST(Transforms, OfAVideoAreThoseOfItsFrames) {
  Generator noise(1);
  const Tensor video = randint(0, 255, {3, 4, 12, 14}, {.dtype = u8}, &noise);
  const Transforms some{Affine{.angle = 10, .scale = 1.1},
                        CenterCrop{10},
                        Resize{.size = {7, 9}},
                        RandomHorizontalFlip{.p = 1},
                        ColorJitter{.brightness = {1.2, 1.2},
                                    .contrast = {0.7, 0.7},
                                    .saturation = {1.4, 1.4},
                                    .hue = {0.2, 0.2}},
                        RandomGamma{{0.9, 0.9}},
                        ToFloat{},
                        Normalize{{0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}}};
  Generator one(1);
  const Tensor whole = some(video, one);
  EXPECT_EQ(whole.shape(), (Shape{3, 4, 7, 9}));
  for (int64_t t = 0; t < 4; ++t) {
    Generator same(1);  // the order of the jitter is drawn
    EXPECT_EQ(some(video.select(1, t), same).to_vector<float>(),
              whole.select(1, t).to_vector<float>());
  }
}

TEST(Noise, HasItsMomentsAndKeepsGreyGrey) {
  const Tensor grey = full({3, 2, 100, 100}, 0.5f);
  Generator random(5);
  const Tensor speckle = Transforms{SpeckleNoise{.std = 0.2, .clip = false}}(grey, random);
  EXPECT_NEAR(mean(speckle).item<double>(), 0.5, 5 * 0.1 / std::sqrt(20000.));
  EXPECT_NEAR(std::sqrt(var(speckle).item<double>()), 0.1, 0.003);
  EXPECT_EQ(speckle[0].to_vector<float>(), speckle[2].to_vector<float>());
  const Tensor gauss = Transforms{GaussianNoise{.mean = 0.1, .sigma = 0.05}}(grey, random);
  EXPECT_NEAR(mean(gauss).item<double>(), 0.6, 5 * 0.05 / std::sqrt(60000.));
  EXPECT_NEAR(std::sqrt(var(gauss).item<double>()), 0.05, 0.002);
  EXPECT_NE(gauss[0].to_vector<float>(), gauss[2].to_vector<float>());
  const Tensor bytes =
      Transforms{GaussianNoise{.sigma = 0.05}}(full({100, 100}, 128, {.dtype = u8}), random);
  EXPECT_NEAR(mean(bytes.to(f64)).item<double>(), 128, 5 * 12.75 / 100);
  EXPECT_NEAR(std::sqrt(var(bytes.to(f64)).item<double>()), 12.75, 0.6);
  const Tensor clipped = Transforms{SpeckleNoise{.std = 5}}(full({50, 50}, 1.f), random);
  EXPECT_EQ(min(clipped).item<double>(), 0);
  EXPECT_EQ(max(clipped).item<double>(), 1);
}

TEST(Affine, FillsWhatLiesOutside) {
  const Tensor white = full({4, 4}, 200, {.dtype = u8});
  // Half a pixel to the right: the first column is half outside.
  const Tensor moved = Transforms{Affine{.translate = {1.5, 0}, .fill = 100}}(white);
  for (int64_t y = 0; y < 4; ++y) {
    EXPECT_EQ(int{moved.at<uint8_t>({y, 0})}, 100);
    EXPECT_EQ(int{moved.at<uint8_t>({y, 1})}, 150);
    EXPECT_EQ(int{moved.at<uint8_t>({y, 2})}, 200);
  }
  const Views masks =
      Transforms{Affine{.translate = {2, 0}, .fill = 100, .mask_fill = 7}}({.masks = {white}});
  EXPECT_EQ(int{masks.masks[0].at<uint8_t>({0, 1})}, 7);
  EXPECT_EQ(int{masks.masks[0].at<uint8_t>({0, 2})}, 200);
}

TEST(Transforms, RefuseAFillThatTheDtypeDoesNotHold) {
  const Tensor image = full({4, 4}, 200, {.dtype = u8}), floats = full({4, 4}, 0.5);
  for (const double fill : {300., -5., double(NAN), double(INFINITY)}) {
    for (const auto& [op, transform] : std::vector<std::pair<std::string, Transform>>{
             {"pad", Pad{.padding = {1, 1}, .fill = fill}},
             {"random_crop", RandomCrop{.size = 6, .pad_if_needed = true, .fill = fill}},
             {"affine", Affine{.translate = {1, 0}, .fill = fill}},
             {"random_affine", RandomAffine{.degrees = {5, 6}, .fill = fill}}}) {
      SCOPED_TRACE(op + " " + std::to_string(fill));
      EXPECT_THAT(error_of([&] { Transforms{transform}(image); }),
                  testing::StartsWith(op + ": the value must fit the dtype, got "));
      EXPECT_EQ(error_of([&] { Transforms{transform}(floats); }), kNoError);
    }
    const Transforms masked{Pad{.padding = {1, 1}, .mask_fill = fill}};
    EXPECT_THAT(error_of([&] { masked({.masks = {image}}); }),
                testing::StartsWith("pad: the value must fit the dtype, got "));
  }
  EXPECT_EQ(
      error_of([&] {
        Transforms{Pad{.padding = {1, 1}, .fill = 300, .padding_mode = PaddingMode::edge}}(image);
      }),
      kNoError);
}

TEST(Transforms, TellSizesBefore) {
  const Transforms fixed{Pad{.padding = {1, 2}}, RandomCrop{.size = {8, 9}}};
  EXPECT_EQ(fixed.size_after({20, 30}), FrameSize(8, 9));
  EXPECT_EQ(fixed.size_after({-1, -1}), FrameSize(8, 9));
  const Transforms open{Pad{.padding = {1, 2}}, RandomHorizontalFlip{}};
  EXPECT_EQ(open.size_after({20, 30}), FrameSize(24, 32));
  EXPECT_EQ(open.size_after({-1, -1}), FrameSize(-1, -1));
  EXPECT_EQ(Transforms{Resize{.shorter_edge = 10}}.size_after({20, 31}), FrameSize(10, 15));
  EXPECT_EQ(Transforms{Resize{.shorter_edge = 10}}.size_after({31, 20}), FrameSize(15, 10));
}

TEST(Transforms, KeepAnEmptyListAndEmptyImages) {
  const Tensor image = rand({3, 4, 5});
  const Tensor same = Transforms{}(image);
  EXPECT_EQ(same.to_vector<float>(), image.to_vector<float>());
  EXPECT_FALSE(same.shares_storage(image));
  EXPECT_EQ(Transforms{CenterCrop{2}}(zeros({3, 0, 5})).to_vector<int>(), std::vector<int>(12));
  const Transforms all{RandomAffine{.degrees = {-5, 5}}, RandomVerticalFlip{},
                       ColorJitter{.contrast = {0.5, 2}}, GaussianNoise{}, SpeckleNoise{}};
  EXPECT_EQ(all(zeros({3, 0, 5})).shape(), (Shape{3, 0, 5}));
  for (const Transform& one :
       {Transform(ToFloat{}), Transform(RandomHorizontalFlip{.p = 0}), Transform(SpeckleNoise{})})
    EXPECT_EQ(Transforms{one}(empty({0, 5, 4})).shape(), (Shape{0, 5, 4}));
}

TEST(Transforms, TravelByTheirFields) {
  const Transforms sent{RandomAffine{.degrees = {-30, 30}, .center = {5, 6}, .fill = 3},
                        CenterCrop{9},
                        RandomCrop{.size = {7, 8}, .padding = {1, 2, 3, 4}},
                        RandomHorizontalFlip{.p = 0.9},
                        ToFloat{},
                        GaussianNoise{.sigma = 0.3},
                        Normalize{{0.5, 1, 2}, {0.1, 0.2, 0.3}}};
  ArgumentWriter writer;
  Portable<Transforms>::write(writer, sent);
  EXPECT_EQ(writer.refusal(), "");
  ArgumentReader reader(writer.text());
  const Transforms received = Portable<Transforms>::read(reader);
  Generator noise(1), one(2), two(2);
  const Tensor image = randint(0, 255, {3, 12, 12}, {.dtype = u8}, &noise);
  const Tensor result = received(image, one);
  EXPECT_EQ(result.shape(), (Shape{3, 7, 8}));
  EXPECT_EQ(result.to_vector<float>(), sent(image, two).to_vector<float>());
}

TEST(Transforms, SayWhatIsWrong) {
  const auto making = [](const Transform& transform) {
    return error_of([&] { Transforms{transform}; });
  };
  EXPECT_EQ(making(CenterCrop{0}), "center_crop: size must be 1 to 1000000000 each way, got 0 x 0");
  EXPECT_EQ(making(RandomCrop{.size = {3, -1}}),
            "random_crop: size must be 1 to 1000000000 each way, got 3 x -1");
  EXPECT_EQ(making(Pad{.padding = -1}),
            "pad: padding must be 0 to 1000000000 on each side, got [-1,-1,-1,-1]");
  EXPECT_EQ(making(Pad{.padding = {INT64_MAX, 1}}),
            "pad: padding must be 0 to 1000000000 on each side, got "
            "[9223372036854775807,1,9223372036854775807,1]");
  EXPECT_EQ(making(Resize{.shorter_edge = INT64_MAX}),
            "resize: shorter_edge must be at most 1000000000, 0 for none, got 9223372036854775807");
  EXPECT_EQ(making(RandomHorizontalFlip{.p = 1.5}),
            "random_horizontal_flip: p must be between 0 and 1, got 1.5");
  EXPECT_EQ(making(RandomVerticalFlip{.p = NAN}),
            "random_vertical_flip: p must be between 0 and 1, got nan");
  EXPECT_EQ(making(Affine{.scale = 0}), "affine: scale must be above 0 and below 1e9, got 0");
  EXPECT_EQ(making(Affine{.shear = {0, 90}}),
            "affine: shear must be between -90 and 90 degrees, got 0, 90");
  EXPECT_EQ(making(Affine{.center = {1}}), "affine: center must be x and y, got 1 numbers");
  EXPECT_EQ(making(RandomAffine{.degrees = {5, -5}}),
            "random_affine: degrees must be a range {low, high} from -1e9 to 1e9, got 5 to -5");
  EXPECT_EQ(making(RandomAffine{.translate = {0, 2}}),
            "random_affine: translation values should be between 0 and 1, got 2");
  EXPECT_EQ(making(RandomAffine{.scale = {0, 1}}),
            "random_affine: scale must be a range {low, high} from 1e-9 to 1e9, got 0 to 1");
  EXPECT_EQ(making(Affine{.scale = 1e10}),
            "affine: scale must be above 0 and below 1e9, got 1e+10");
  EXPECT_EQ(making(GaussianNoise{.sigma = 1e9}),
            "gaussian_noise: sigma must be at least 0 and below 1e9, got 1e+09");
  EXPECT_EQ(making(SpeckleNoise{.std = INFINITY}),
            "speckle_noise: std must be at least 0 and below 1e9, got inf");
  EXPECT_EQ(
      making(RandomResizedCrop{.size = 3, .scale = {1, 2000}}),
      "random_resized_crop: scale must be a range of shares {low, high} from 1e-9 to 1000, got 1 "
      "to 2000");
  EXPECT_EQ(making(RandomGamma{.gamma = {1, 1e10}}),
            "random_gamma: gamma must be a range {low, high} from 0 to 1e9, got 1 to 1e+10");
  EXPECT_EQ(making(Resize{}), "resize: size must be 1 to 1000000000 each way, got 0 x 0");
  EXPECT_EQ(making(Resize{.shorter_edge = 3, .size = 3}),
            "resize: size and shorter_edge exclude each other, got both");
  EXPECT_EQ(making(Normalize{{1}, {0}}), "normalize: std must be finite and not 0, got 0");
  EXPECT_EQ(making(Normalize{{1, 2}, {1}}),
            "normalize: mean and std must have as many numbers, got 2 and 1");
  EXPECT_EQ(making(ColorJitter{.hue = {0, 0.6}}),
            "color_jitter: hue must be a range {low, high} from -0.5 to 0.5, got 0 to 0.6");
  const auto running = [](const Transform& transform, const Tensor& image) {
    return error_of([&] { Transforms{transform}(image); });
  };
  const Tensor bytes = zeros({2, 4, 4}, {.dtype = u8});
  EXPECT_EQ(running(Normalize{{1}, {1}}, bytes),
            "normalize: the image must be f32 (ToFloat goes before), got u8");
  EXPECT_EQ(running(Normalize{{1, 2, 3}, {1, 2, 3}}, zeros({2, 4, 4})),
            "normalize: there must be a number a channel, or one, got 3 for 2 channels");
  EXPECT_EQ(running(ColorJitter{.contrast = {2, 2}}, bytes),
            "color_jitter: contrast, saturation and hue need 1 or 3 channels, got 2");
  EXPECT_EQ(running(Pad{.padding = 4, .padding_mode = PaddingMode::reflect}, bytes),
            "pad: padding by reflection must be smaller than the image, got [4,4,4,4] for 4 x 4");
  EXPECT_EQ(running(CenterCrop{2}, zeros({0, 2'000'000'000, 1})),
            "transforms: frames must have at most 1000000000 rows and columns, got 2000000000 x 1");
  EXPECT_EQ(running(Resize{.shorter_edge = 1'000'000'000}, zeros({0, 3, 4})),
            "transforms: frames must have at most 1000000000 rows and columns, got 1000000000 x "
            "1333333333");
  EXPECT_EQ(running(CenterCrop{2}, zeros({2, 3, 4}, {.dtype = i64})),
            "transforms: an image must be u8 or f32, (H, W), (C, H, W) or (C, T, H, W), "
            "contiguous, got i64 [2,3,4] on cpu");
  EXPECT_EQ(error_of([&] {
              Transforms{CenterCrop{2}}({.images = {bytes}, .masks = {zeros({4, 5})}});
            }),
            "transforms: images and masks must have one height and width, got 4 x 4 and 4 x 5");
  EXPECT_EQ(error_of([] {
              Transforms{CenterCrop{2}}({.points = {zeros({4, 2})}});
            }),
            "transforms: there must be an image or a mask, which have the size, got none");
  EXPECT_EQ(error_of([&] {
              Transforms{CenterCrop{2}}({.images = {bytes}, .points = {zeros({4, 3})}});
            }),
            "transforms: points must be f32 or f64 (..., 2), contiguous, got f32 [4,3]");
}

}  // namespace
}  // namespace aorta::data
