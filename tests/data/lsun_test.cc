// Databases that liblmdb writes, of images that libwebp makes.
#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/process/init.h>
#include <aorta/data/datasets/lsun.h>
#include <aorta/data/images/jpeg.h>
#include <aorta/data/images/png.h>
#include <aorta/data/lmdb_format.h>
#include <aorta/data/loader.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <aorta/tests/data/lsun_files.h>
#include <aorta/tests/data/test_files.h>
#include <aorta/tests/data/worker_datasets.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/forked.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

namespace fs = std::filesystem;
using Values = std::map<std::string, std::string>;

#ifdef __SANITIZE_ADDRESS__
// The sanitizer calls dlopen in our place, and with it the search along our run path is gone.
[[maybe_unused]] const int kPluginNamed = setenv("AORTA_LSUN_PLUGIN", "data/libaorta_lsun.so", 0);
#endif

const Transforms kWhole{CenterCrop{8}};

std::vector<int> pixels_of(const Tensor& image) { return image.to_vector<int>(); }

Tensor noise(Generator& random, int64_t channels = 3) {
  return randint(0, 256, {channels, 8, 8}, {.dtype = u8}, &random);
}

// Forty letters, as LSUN's.
std::string key_of(Generator& random) {
  std::string key;
  while (key.size() < 40) key += "0123456789abcdef"[static_cast<int>(16 * random.next_uniform())];
  return key;
}

// Pictures of noise by key, and as a database.
struct Noise {
  Noise(const std::string& folder, int count, uint64_t seed) {
    Generator random(seed);
    Values values;
    std::vector<std::string> written;
    for (int i = 0; i < count; ++i) {
      const std::string key = key_of(random);
      images.emplace(key, noise(random));
      written.push_back(key);
      values[key] = webp_of(images.at(key));
      // What has its own pages, beside those that share one: RIFF may be followed by anything.
      if (i % 3 == 0) values[key] += std::string(5000, 'x');
    }
    write_lmdb(folder, values, written);
  }
  std::map<std::string, Tensor> images;
};

TEST(LSUN, GivesImagesByTheOrderOfClassesAndKeys) {
  const TestFolder folder;
  const std::vector<std::string> classes{"tower_val", "church_outdoor_train", "bedroom_test"};
  std::vector<Noise> all;
  int64_t count = 0;
  for (const int images : {200, 1, 130}) {
    all.emplace_back(folder.file(classes[all.size()] + "_lmdb"), images, all.size());
    count += images;
  }
  const auto set = make_dataset<LSUN>(folder.str(), classes, kWhole);
  EXPECT_EQ(set->classes(), classes);
  ASSERT_EQ(set->size(), count);
  std::vector<std::string> paths;
  std::vector<Tensor> images;
  std::vector<int> labels;
  for (size_t i = 0; i < classes.size(); ++i) {
    const std::string database = folder.file(classes[i] + "_lmdb");
    for (const std::string& key : lmdb_keys(database)) {
      paths.push_back(database + "/" + key);
      images.push_back(all[i].images.at(key));
      labels.push_back(static_cast<int>(i));
    }
  }
  const auto expect_at = [&](int64_t i) {
    const auto place = static_cast<size_t>(i);
    Sample sample(checked_specs(set->specs()));
    set->read(i, sample, default_generator());
    EXPECT_EQ(sample.file(), paths[place]);
    EXPECT_EQ(set->path(i), paths[place]);
    EXPECT_EQ(sample["label"].item<int>(), labels[place]);
    EXPECT_EQ(set->label(i), labels[place]);
    EXPECT_EQ(pixels_of(sample["image"]), pixels_of(images[place])) << i;
  };
  for (int64_t i = 0; i < count; ++i) expect_at(i);
  for (int64_t i = count - 1; i >= 0; --i) expect_at(i);
  Generator random(5);
  for (int draw = 0; draw < 500; ++draw)
    expect_at(static_cast<int64_t>(random.next_uniform() * static_cast<double>(count)));
}

TEST(LSUN, KnowsTheClassesOfEachSplit) {
  const TestFolder folder;
  const std::vector<std::string> categories{
      "bedroom",     "bridge",  "church_outdoor", "classroom",  "conference_room",
      "dining_room", "kitchen", "living_room",    "restaurant", "tower"};
  Generator random(1);
  const std::string root = folder.str();
  int64_t images = 0;
  std::vector<int> labels;
  std::vector<std::string> classes;
  for (size_t i = 0; i < categories.size(); ++i) {
    Values values;
    for (size_t j = 0; j <= i; ++j) {
      values[key_of(random)] = webp_of(noise(random));
      labels.push_back(static_cast<int>(i));
    }
    write_lmdb(folder.file(categories[i] + "_val_lmdb"), values);
    classes.push_back(categories[i] + "_val");
    images += static_cast<int64_t>(values.size());
  }
  const auto set = make_dataset<LSUN>(root, "val", kWhole);
  EXPECT_EQ(set->classes(), classes);
  EXPECT_EQ(set->size(), images);
  for (int64_t i = 0; i < images; ++i)
    EXPECT_EQ(set->sample(i)["label"].item<int>(), labels[static_cast<size_t>(i)]);
  EXPECT_EQ(error_of([&] { LSUN(root, "train", kWhole); }),
            "lsun: a class must have a database, got " + root +
                "/bedroom_train_lmdb/data.mdb: ENOENT (No such file or directory)");
  write_lmdb(folder.file("test_lmdb"), {{"a", webp_of(noise(random))}});
  const LSUN test(root, std::string("test"), kWhole);
  EXPECT_EQ(test.classes(), std::vector<std::string>{"test"});
  EXPECT_EQ(test.label(0), 0);
  EXPECT_EQ(test.path(0), root + "/test_lmdb/a");
  // A label of one's own.
  const LSUN few(root, {"tower_val", "kitchen_val"}, kWhole,
                 {.target_transform = [](int64_t number) { return 10 * number + 3; }});
  EXPECT_EQ(few.label(9), 3);
  EXPECT_EQ(few.sample(10)["label"].item<int>(), 13);
}

TEST(LSUN, ReadsEveryFormatInEveryMode) {
  const TestFolder folder;
  Generator random(2);
  const Tensor colour = test_picture(8, 8), gray = noise(random, 1);
  Tensor clear = noise(random, 4);
  clear[3].fill_(200);
  write_png(gray, folder.file("gray.png"));
  const Tensor jpeg = encode_jpeg(colour, 90);
  const std::string jpeg_bytes(static_cast<const char*>(jpeg.data()),
                               static_cast<size_t>(jpeg.numel()));
  const std::string lossy = webp_of(colour, 60);
  write_lmdb(folder.file("tower_val_lmdb"), {{"a", webp_of(clear)},
                                             {"b", jpeg_bytes},
                                             {"c", read_text(folder.file("gray.png"))},
                                             {"d", lossy}});
  const LSUN rgb(folder.str(), {"tower_val"}, kWhole);
  const auto expect = [](const LSUN& set, int64_t i, const Tensor& image) {
    EXPECT_EQ(pixels_of(set.sample(i)["image"]), pixels_of(image)) << i;
  };
  expect(rgb, 0, clear.narrow(0, 0, 3));  // as Pillow's convert("RGB"): alpha is left out
  const auto* jpeg_data = reinterpret_cast<const std::byte*>(jpeg_bytes.data());
  expect(rgb, 1, decode_jpeg({jpeg_data, jpeg_bytes.size()}, ImageMode::rgb));
  expect(rgb, 2, gray.expand({3, 8, 8}));
  expect(rgb, 3, webp_pixels(lossy));
  const LSUN bright(folder.str(), {"tower_val"}, kWhole, {.mode = ImageMode::gray});
  EXPECT_EQ(bright.specs()[0].shape, (Shape{1, 8, 8}));
  expect(bright, 2, gray);
  const LSUN unchanged(folder.str(), {"tower_val"}, kWhole, {.mode = ImageMode::unchanged});
  EXPECT_EQ(unchanged.specs()[0].shape, (Shape{4, 8, 8}));
  expect(unchanged, 0, clear);
  EXPECT_EQ(error_of([&] { unchanged.sample(2); }),
            "lsun: images must have as many channels as the first, got 1 and 4 in " + folder.str() +
                "/tower_val_lmdb/c");
  const LSUN floats(folder.str(), {"tower_val"}, {CenterCrop{6}, ToFloat{}});
  EXPECT_EQ(floats.specs()[0].dtype, f32);
  EXPECT_EQ(floats.sample(0)["image"].at<float>({1, 0, 0}),
            static_cast<float>(clear.at<uint8_t>({1, 1, 1})) * (1.f / 255));
}

TEST(LSUN, WorkersReadWhatTheProgramReads) {
  const TestFolder folder;
  const Noise first(folder.file("bridge_train_lmdb"), 90, 1),
      second(folder.file("tower_train_lmdb"), 40, 2);
  const List<std::string> classes{"bridge_train", "tower_train"};
  const Transforms augment{RandomResizedCrop{.size = 8}, RandomHorizontalFlip{}, ToFloat{}};
  const auto made = make_dataset<LSUN>(folder.str(), classes, augment);
  const std::shared_ptr<const LSUN> copied(new LSUN(folder.str(), classes, augment));
  DataLoaderOptions options{.batch_size = 7, .shuffle = true, .seed = 3};
  DataLoader alone(made, options);
  const std::string expected = text_of(alone);
  options.num_workers = 2;
  for (const StartMethod method : {StartMethod::zygote, StartMethod::spawn, StartMethod::fork}) {
    options.start_method = method;
    DataLoader loader(made, options);
    EXPECT_EQ(text_of(loader), expected);
  }
  DataLoader loader(copied, options);  // copies of the program, whose database is open already
  EXPECT_EQ(text_of(loader), expected);
  // A child opens the file for itself: the parent's may be gone.
  const std::string path = copied->path(70);
  EXPECT_EQ(forked([&] { return copied->path(70) == path ? 7 : 8; }), 7);
  fs::rename(folder.file("bridge_train_lmdb"), folder.file("moved"));
  EXPECT_EQ(copied->path(70), path);
  EXPECT_EQ(forked([&] {
              return error_of([&] { static_cast<void>(copied->path(70)); }) ==
                             "lsun: a database must be readable, got ENOENT (No such file or "
                             "directory) in " +
                                 folder.file("bridge_train_lmdb") + ", image 70"
                         ? 7
                         : 8;
            }),
            7);
  EXPECT_EQ(copied->path(3).rfind(folder.file("bridge_train_lmdb") + "/", 0), 0u);
}

TEST(LSUN, OpensADatabaseManyTimesAndLeavesNothing) {
  const TestFolder folder;
  const Noise pictures(folder.file("bridge_train_lmdb"), 70, 1);
  fs::permissions(folder.file("bridge_train_lmdb"), fs::perms::owner_read | fs::perms::owner_exec);
  const auto descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = descriptors();
  {
    const LSUN one(folder.str(), {"bridge_train", "bridge_train"}, kWhole),
        other(folder.str(), {"bridge_train"}, kWhole);
    for (int64_t i = 0; i < 140; ++i) {
      EXPECT_EQ(one.path(i), other.path(i % 70));
      EXPECT_EQ(one.path(139 - i), other.path((139 - i) % 70));
    }
  }
  EXPECT_EQ(descriptors(), before);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.file("bridge_train_lmdb")))
    names.push_back(entry.path().filename());
  EXPECT_EQ(names, std::vector<std::string>{"data.mdb"});
  fs::permissions(folder.file("bridge_train_lmdb"), fs::perms::owner_all);
}

TEST(LSUN, SaysWhatIsWrongWithItsArguments) {
  const TestFolder folder;
  const std::string root = folder.str(), op = "lsun: ";
  const auto error = [&](const List<std::string>& classes) {
    return error_of([&] { LSUN(root, classes, kWhole); });
  };
  EXPECT_EQ(error_of([&] { LSUN(root, "trian", kWhole); }),
            op + "classes must be \"train\", \"val\", \"test\" or a list, got \"trian\"");
  const std::string categories =
      "a class must be of a category (bedroom, bridge, church_outdoor, classroom, "
      "conference_room, dining_room, kitchen, living_room, restaurant, tower), got ";
  EXPECT_EQ(error({"bedroom_train", "bathroom_train"}),
            op + categories + "\"bathroom\" of \"bathroom_train\"");
  EXPECT_EQ(error({"tower"}), op + categories + "\"tower\" of \"tower\"");
  EXPECT_EQ(error({"train"}), op + categories + "\"train\" of \"train\"");
  EXPECT_EQ(error({"church_outdoor_validation"}),
            op + "a class must end with _train, _val or _test, got \"church_outdoor_validation\"");
  EXPECT_EQ(error({}), op + "there must be a class, got none");
  EXPECT_EQ(error_of([&] { LSUN(root, "val", {RandomHorizontalFlip{}}); }),
            op + "transforms must give images of any size one size (RandomResizedCrop, "
                 "CenterCrop, RandomCrop or Resize to a size), got none that does");
  fs::create_directories(folder.path / "tower_val_lmdb/data.mdb");
  EXPECT_EQ(error({"tower_val"}), op + "a class must have a database, got " + root +
                                      "/tower_val_lmdb/data.mdb, which is no file");
  write_lmdb(folder.file("bridge_val_lmdb"), {});
  EXPECT_EQ(error({"bridge_val"}), op + "a database must have an image, got none in " + root +
                                       "/bridge_val_lmdb/data.mdb");
  Generator random(1);
  write_lmdb(folder.file("bedroom_val_lmdb"), {{"a", webp_of(noise(random))}});
  const LSUN set(root, {"bedroom_val"}, kWhole);
  for (const int64_t index : {-1, 1})
    EXPECT_EQ(error_of([&] { static_cast<void>(set.path(index)); }),
              op + "index must be in [0, size), got " + std::to_string(index) + " of 1");
}

TEST(LSUN, SaysWhichImageIsWrong) {
  const TestFolder folder;
  Generator random(1);
  const std::string whole = webp_of(noise(random));
  std::string damaged = whole;
  damaged[21] = static_cast<char>(damaged[21] ^ 0x40);
  write_lmdb(folder.file("tower_val_lmdb"), {{"a", "no image\n"},
                                             {"b", ""},
                                             {"c\x01/\xff", whole.substr(0, whole.size() / 2)},
                                             {"d", whole.substr(0, 14)},
                                             {"e", damaged},
                                             {"f", "\x89PNG, nearly"},
                                             {"g", animated_webp(noise(random))},
                                             {"h", whole}});
  const std::string at = folder.file("tower_val_lmdb") + "/";
  const auto set = make_dataset<LSUN>(folder.str(), List<std::string>{"tower_val"}, kWhole);
  const auto error = [&](int64_t index) { return error_of([&] { set->sample(index); }); };
  const std::string none = "lsun: an image must be WebP, JPEG or PNG, got ",
                    webp = "lsun: WebP image must be whole, sound and still, got ";
  EXPECT_EQ(error(0), none + "\"no image\\x0a\" in " + at + "a");
  EXPECT_EQ(error(1), none + "\"\" in " + at + "b");
  EXPECT_EQ(error(2), webp + "a part of it in " + at + "c\\x01/\\xff");
  EXPECT_EQ(error(3), webp + "a part of it in " + at + "d");
  EXPECT_EQ(error(4), webp + "damaged bits in " + at + "e");
  EXPECT_EQ(error(5).rfind("lsun: " + at + "f: PNG image must be sound", 0), 0u) << error(5);
  EXPECT_EQ(error(6), webp + "an animation in " + at + "g");
  EXPECT_EQ(error(7), kNoError);
  DataLoader loader(set, {.batch_size = 8, .num_workers = 1});
  const std::string said = error_of([&] { static_cast<void>(*loader.begin()); });
  EXPECT_NE(said.find("lsun: an image must be WebP, JPEG or PNG, got \"no image"), said.npos)
      << said;
}

std::string number_bytes(uint64_t value) {
  std::string text;
  io::append(text, value);
  return text;
}

// A database whose tree has branches, and values with pages of their own.
struct Tree {
  Tree() {
    Generator random(3);
    Values values;
    const std::string image = webp_of(noise(random));
    for (int i = 0; i < 60; ++i)
      values[key_of(random) + std::string(250, 'k')] =
          i % 9 == 0 ? image + std::string(5000, 'x') : image;
    write_lmdb(folder.file("tower_val_lmdb"), values);
    bytes = read_text(path);
  }
  // What is wrong with a database of these bytes, or with an image there.
  std::string error_with(const std::string& changed) const {
    std::ofstream(path, std::ios::binary) << changed;
    return error_of([&] {
      const LSUN set(folder.str(), {"tower_val"}, kWhole);
      for (int64_t i = 0; i < set.size(); ++i) set.sample(i);
    });
  }
  std::string rule_of(size_t at, const std::string& put) const {
    std::string changed = bytes;
    changed.replace(at, put.size(), put);
    return error_with(changed);
  }

  template <class Number>
  Number number(size_t at) const {
    return io::load<Number>(std::as_bytes(std::span(bytes)), at);
  }
  size_t nodes(size_t page) const { return (number<uint16_t>(page + 12) - size_t{16}) / 2; }
  // Where a node of the page there begins.
  size_t node(size_t page, size_t index) const {
    return page + number<uint16_t>(page + 16 + 2 * index);
  }

  TestFolder folder;
  std::string path = folder.file("tower_val_lmdb") + "/data.mdb";
  std::string bytes;
};

TEST(LSUN, ADamagedDatabaseIsAnErrorAndNoCrash) {
  const Tree tree;
  EXPECT_EQ(tree.error_with(tree.bytes), kNoError);
  const auto expect_said = [&](const std::string& error) {
    if (error != kNoError) {
      EXPECT_EQ(error.rfind("lsun: ", 0), 0u) << error;
      EXPECT_NE(error.find(", got "), error.npos) << error;
      EXPECT_NE(error.find(tree.folder.file("tower_val_lmdb")), error.npos) << error;
      EXPECT_EQ(error.find('\n'), error.npos) << error;
    }
    return error != kNoError;
  };
  for (size_t size = 0; size < tree.bytes.size(); size += 2048)
    EXPECT_TRUE(expect_said(tree.error_with(tree.bytes.substr(0, size)))) << size;
  Generator random(4);
  const auto below = [&](size_t end) {
    return static_cast<size_t>(random.next_uniform() * static_cast<double>(end));
  };
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string changed = tree.bytes;
    // Heads, heads of pages and places of nodes count more than values.
    const size_t page = 4096 * below(changed.size() / 4096);
    const size_t at = page + below(i % 2 == 0 ? 160 : 4096);
    for (size_t j = at; j < std::min(at + 1 + below(4), changed.size()); ++j)
      changed[j] = static_cast<char>(below(256));
    refused += expect_said(tree.error_with(changed));
  }
  EXPECT_GT(refused, 80);
}

TEST(LSUN, SaysWhatIsWrongWithADatabase) {
  const Tree tree;
  const std::string in = " in " + tree.path;
  EXPECT_EQ(tree.error_with(""), "lsun: LMDB must have two heads, got 0 bytes" + in);
  EXPECT_EQ(tree.rule_of(16, "SQLi"), "lsun: LMDB head must have its mark, got \"SQLi\"" + in);
  EXPECT_EQ(tree.rule_of(4096 + 20, "\x02"), "lsun: LMDB must be of version 1, got 2" + in);
  EXPECT_EQ(tree.rule_of(40, "\x01"),
            "lsun: LMDB page must have 512 to 32768 bytes, a power of two, got 4097" + in);
  EXPECT_EQ(tree.rule_of(4096 + 92, "\x04"),
            "lsun: LMDB must have plain keys and one value of each, got flags 4" + in);
  EXPECT_EQ(tree.rule_of(4096 + 94, "\x21"), "lsun: LMDB tree must be 1 to 32 deep, got 33" + in);
  EXPECT_EQ(tree.rule_of(4096 + 120, "\x3d"),
            "lsun: LMDB must have the values that it counts, got 60 of 61" + in);
  EXPECT_EQ(tree.rule_of(4096 + 128, "\xff"),
            "lsun: LMDB page must lie in the file, got page 255 of " +
                std::to_string(tree.bytes.size() / 4096) + in);
  EXPECT_EQ(tree.rule_of(4096 + 40, number_bytes(8192)),
            "lsun: LMDB heads must have one page size, got 4096 and 8192" + in);
  EXPECT_EQ(tree.rule_of(4096 + 136, number_bytes(uint64_t{1} << 34)),
            "lsun: LMDB must have fewer than 2^34 pages, got 17179869184 as the last" + in);
  // The other head's transaction is the later one, and it knows of nothing.
  EXPECT_EQ(tree.rule_of(144, "\x09"), "lsun: a database must have an image, got none" + in);
}

TEST(LSUN, SaysWhatIsWrongWithAPageOfADatabase) {
  const Tree tree;
  const size_t root = 4096 * tree.number<uint64_t>(4096 + 128);
  const size_t leaf = 4096 * (tree.number<uint64_t>(tree.node(root, 0)) & 0xffffffffffff);
  const size_t node = tree.node(leaf, 0);
  const std::string of_root = "page " + std::to_string(root / 4096),
                    of_leaf = "page " + std::to_string(leaf / 4096);
  const auto expect = [&](size_t at, const std::string& put, const std::string& rule) {
    EXPECT_EQ(tree.rule_of(at, put), "lsun: LMDB " + rule + " in " + tree.path);
  };
  const auto short_number = [](uint16_t value) { return number_bytes(value).substr(0, 2); };
  const std::string branch = "page above the tree's depth must be a branch with its number, got ",
                    bottom = "page at the tree's depth must be a leaf with its number, got ";
  expect(root + 10, short_number(2),
         branch + of_root + " of kind 2 with " + std::to_string(root / 4096));
  expect(leaf + 10, short_number(0x42),
         bottom + of_leaf + " of kind 66 with " + std::to_string(leaf / 4096));
  expect(leaf, number_bytes(99), bottom + of_leaf + " of kind 2 with 99");
  const std::string places = "page must have a node, a branch two, got ";
  expect(root + 12, short_number(18),
         places + of_root + " with places to byte 18 and nodes from " +
             std::to_string(tree.number<uint16_t>(root + 14)));
  expect(leaf + 14, short_number(16),
         places + of_leaf + " with places to byte " +
             std::to_string(tree.number<uint16_t>(leaf + 12)) + " and nodes from 16");
  expect(leaf + 16, short_number(4090), "node must lie in its page, got byte 4090 of " + of_leaf);
  expect(node + 6, short_number(0xffff),
         "key must lie in its page, got its end at " + std::to_string(node - leaf + 8 + 0xffff) +
             " of " + of_leaf);
  expect(tree.node(root, 0), number_bytes(0).substr(0, 6),
         "page must lie in the file, got page 0 of " + std::to_string(tree.bytes.size() / 4096));
  // Keys are 290 bytes long.
  expect(node + 6, short_number(0), "key must have 1 to 511 bytes, got 0 in " + of_leaf);
  const size_t last = tree.node(leaf, 1);
  expect(last + 8, std::string(1, '!'),
         "keys must grow, got " + io::quote("!" + tree.bytes.substr(last + 9, 289)) + " after " +
             io::quote(tree.bytes.substr(node + 8, 290)) + " in " + of_leaf);
  const auto pages = std::to_string(tree.bytes.size() / 4096);
  size_t seen[2] = {};
  for (size_t i = 0; i < tree.nodes(leaf); ++i) {
    const size_t one = tree.node(leaf, i), value = one + 8 + 290;
    const bool is_long = tree.number<uint16_t>(one + 4) == 1;
    if (seen[is_long]++ > 0) continue;
    if (is_long) {
      const std::string in_file = "value must lie in the file, got ";
      const std::string size = std::to_string(tree.number<uint32_t>(one)) + " bytes from page ";
      expect(value, number_bytes(1), in_file + size + "1 of " + pages);
      expect(value, number_bytes(~uint64_t{0}),
             in_file + size + "18446744073709551615 of " + pages);
      expect(one, number_bytes(1 << 30).substr(0, 4),
             in_file + "1073741824 bytes from page " +
                 std::to_string(tree.number<uint64_t>(value)) + " of " + pages);
    } else {
      expect(one, number_bytes(60000).substr(0, 4),
             "value must lie in its page, got 60000 bytes from byte " +
                 std::to_string(value - leaf) + " of " + of_leaf);
    }
  }
  EXPECT_GT(seen[0], 0u);
  EXPECT_GT(seen[1], 0u);
}

// LMDB with what LSUN's hasn't.
TEST(LSUN, OtherDatabasesAreRefused) {
  const TestFolder folder;
  const std::string path = folder.file("data.mdb");
  const auto rule = [&] { return error_of([&] { check_lmdb(*ByteSource::open(path), "op"); }); };
  write_named_lmdb(folder.str(), false);
  EXPECT_EQ(rule().rfind("op: LMDB must hold values and no databases, got flags 2 in page ", 0), 0u)
      << rule();
  fs::remove(path);
  write_named_lmdb(folder.str(), true);
  EXPECT_EQ(rule(), "op: LMDB must have plain keys and one value of each, got flags 4 in " + path);
}

TEST(LSUN, NeedsItsPlugin) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a program of its own
  const auto run = [] {
    setenv("AORTA_LSUN_PLUGIN", "none", 1);
    const TestFolder folder;
    Generator random(1);
    write_lmdb(folder.file("tower_val_lmdb"), {{"a", webp_of(noise(random))}});
    std::fputs(error_of([&] { LSUN(folder.str(), {"tower_val"}, kWhole); }).c_str(), stderr);
    fs::remove_all(folder.path);
    std::exit(0);
  };
  EXPECT_EXIT(
      run(), testing::ExitedWithCode(0),
      "^lsun: databases need libaorta_lsun.so, got AORTA_LSUN_PLUGIN=none switches it off$");
}

}  // namespace
}  // namespace aorta::data

// Workers start as in programs: from a zygote.
int main(int argc, char** argv) {
  aorta::init(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
