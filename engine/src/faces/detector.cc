#include "faces/detector.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "reelmend/error.h"
#include "inference/model_loader.h"
#include "inference/shared_module.h"

namespace reelmend::faces {
namespace {

constexpr int kProposalSide = 12;
constexpr int kRefineSide = 24;
constexpr int kDecideSide = 48;
constexpr float kPyramidStep = 0.709F;
constexpr float kProposed = 0.6F;
constexpr float kRefined = 0.7F;
constexpr float kFound = 0.95F;
constexpr float kStillThere = 0.6F;

float Normalised(float level) { return (level - 127.5F) * 0.0078125F; }

/// A square that may hold a face, and how its edges should move, in shares of its sides.
struct Candidate {
  Box box;
  float score = 0;
  float edges[4] = {};
};

Box Moved(const Box& box, const float* edges) {
  const float width = box.width();
  const float height = box.height();
  return {box.left + edges[0] * width, box.top + edges[1] * height, box.right + edges[2] * width,
          box.bottom + edges[3] * height};
}

enum class Measure { kUnion, kSmaller };

/// Keeps the best of the squares that overlap by more than `limit`.
template <typename Item>
void Suppress(std::vector<Item>& items, float limit, Measure measure) {
  std::ranges::stable_sort(items, std::greater<>(), &Item::score);
  std::vector<Item> kept;
  for (const Item& item : items) {
    const bool is_covered = std::ranges::any_of(kept, [&](const Item& better) {
      if (measure == Measure::kUnion) return OverlapOfUnion(item.box, better.box) > limit;
      const float smaller = std::min(item.box.width() * item.box.height(), better.box.width() * better.box.height());
      return Overlap(item.box, better.box) > limit * smaller;
    });
    if (!is_covered) kept.push_back(item);
  }
  items = std::move(kept);
}

/// Writes a crop as the networks take it: x before y, three values each.
void Pack(const RgbPicture& crop, float* out) {
  for (int x = 0; x < crop.width; ++x) {
    for (int y = 0; y < crop.height; ++y) {
      const std::size_t from = static_cast<std::size_t>(y) * crop.width + x;
      for (const auto& plane : crop.planes) *out++ = Normalised(plane[from]);
    }
  }
}

std::unique_ptr<inference::TensorModel> LoadPart(inference::Backend& backend, const std::string& folder, const char* name) {
  ModelFile file;
  file.name = name;
  file.path = folder + name + ".onnx";
  return backend.LoadTensors(inference::ReadModelFile(file));
}

/// One level of the pyramid.
struct Level {
  float scale = 1;  ///< of the picture
  RgbPicture picture;
  std::unique_ptr<inference::TensorNetwork> network;
};

/// The square that gives the most stable points of the network: placed and sized by the points themselves.
Box SquareOf(const Landmarks& points) {
  // Positions of the points in the squares that the detector was trained on, as shares of their side.
  constexpr Landmarks kInSquare = {{{0.31F, 0.35F}, {0.69F, 0.35F}, {0.5F, 0.54F}, {0.35F, 0.75F}, {0.65F, 0.75F}}};
  const Similarity fit = FitSimilarity(kInSquare, points);
  const Point middle = fit({0.5F, 0.5F});
  const float half = fit.scale() / 2;
  return {middle.x - half, middle.y - half, middle.x + half, middle.y + half};
}

/// A network that is compiled when it runs for the first time: most videos propose no face.
struct LazyNetwork {
  std::unique_ptr<inference::TensorModel> model;
  std::vector<std::int64_t> input_dims;
  int threads = 1;
  std::unique_ptr<inference::TensorNetwork> compiled = nullptr;

  inference::TensorNetwork& operator()() {
    if (!compiled) compiled = model->Compile({input_dims}, threads);
    return *compiled;
  }
};

}  // namespace

struct FaceDetector::Impl {
  DetectorOptions options;
  std::vector<Level> levels;
  LazyNetwork refine;
  LazyNetwork decide;
  std::vector<RgbPicture> refine_crops = std::vector(kRefineBatch, RgbPicture(kRefineSide, kRefineSide));
  RgbPicture decide_crop{kDecideSide, kDecideSide};
  DetectorWork work;

  void MakeLevels(inference::TensorModel& proposer);
  void Propose(Level& level, std::vector<Candidate>& out);
  std::vector<Candidate> Refine(FacePicture& picture, const std::vector<Candidate>& candidates);
  /// The third step for a square.
  Face Decide(FacePicture& picture, const Box& square);
};

void FaceDetector::Impl::MakeLevels(inference::TensorModel& proposer) {
  float scale = std::min(1.0F, kProposalSide / options.smallest);
  for (; std::min(options.width, options.height) * scale >= kProposalSide; scale *= kPyramidStep) {
    Level level;
    level.scale = scale;
    level.picture = RgbPicture(static_cast<int>(std::ceil(options.width * scale)),
                               static_cast<int>(std::ceil(options.height * scale)));
    levels.push_back(std::move(level));
  }
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Level& level : levels) shapes.push_back({1, level.picture.width, level.picture.height, 3});
  if (shapes.empty()) return;
  auto networks = proposer.CompileShapes(shapes, options.threads);
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i].network = std::move(networks[i]);
}

void FaceDetector::Impl::Propose(Level& level, std::vector<Candidate>& out) {
  constexpr float kStride = 2;
  Pack(level.picture, level.network->Input(0));
  level.network->Run();
  work.searched_pixels += std::int64_t{level.picture.width} * level.picture.height;
  const auto& ends = level.network->outputs();
  const float* edges = level.network->Output(0);
  const float* scores = level.network->Output(1);
  const std::int64_t columns = ends[1].dims[1];
  const std::int64_t rows = ends[1].dims[2];
  std::vector<Candidate> found;
  for (std::int64_t i = 0; i < columns * rows; ++i) {
    if (scores[2 * i + 1] < kProposed) continue;
    const auto x = static_cast<float>(i / rows) * kStride;
    const auto y = static_cast<float>(i % rows) * kStride;
    Candidate candidate;
    candidate.box = {x / level.scale, y / level.scale, (x + kProposalSide) / level.scale, (y + kProposalSide) / level.scale};
    candidate.score = scores[2 * i + 1];
    std::copy_n(edges + 4 * i, 4, candidate.edges);
    found.push_back(candidate);
  }
  Suppress(found, 0.5F, Measure::kUnion);
  out.insert(out.end(), found.begin(), found.end());
}

std::vector<Candidate> FaceDetector::Impl::Refine(FacePicture& picture, const std::vector<Candidate>& candidates) {
  constexpr std::size_t kCount = std::size_t{3} * kRefineSide * kRefineSide;
  std::vector<Candidate> kept;
  for (std::size_t first = 0; first < candidates.size(); first += kRefineBatch) {
    const std::size_t count = std::min<std::size_t>(kRefineBatch, candidates.size() - first);
    std::vector<Box> squares;
    for (std::size_t i = 0; i < count; ++i) squares.push_back(candidates[first + i].box);
    picture.Crop(squares, {refine_crops.data(), count});
    for (std::size_t i = 0; i < count; ++i) Pack(refine_crops[i], refine().Input(0) + i * kCount);
    refine().Run();
    ++work.second_looks;
    for (std::size_t i = 0; i < count; ++i) {
      Candidate candidate = candidates[first + i];
      candidate.score = refine().Output(1)[2 * i + 1];
      if (candidate.score < kRefined) continue;
      std::copy_n(refine().Output(0) + 4 * i, 4, candidate.edges);
      kept.push_back(candidate);
    }
  }
  Suppress(kept, 0.7F, Measure::kUnion);
  for (Candidate& candidate : kept) candidate.box = Squared(Moved(candidate.box, candidate.edges));
  return kept;
}

Face FaceDetector::Impl::Decide(FacePicture& picture, const Box& square) {
  inference::TensorNetwork& network = decide();
  picture.Crop({&square, 1}, {&decide_crop, 1});
  Pack(decide_crop, network.Input(0));
  network.Run();
  ++work.third_looks;
  Face face;
  face.score = network.Output(2)[1];
  face.box = Moved(square, network.Output(0));
  const float* points = network.Output(1);
  for (std::size_t i = 0; i < kPoints; ++i) {
    face.points[i] = {square.left + points[i] * square.width(), square.top + points[i + kPoints] * square.height()};
  }
  return face;
}

FaceDetector::FaceDetector(inference::Backend& backend, const std::string& folder, const DetectorOptions& options)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  const auto proposer = LoadPart(backend, folder, "pnet");
  impl_->MakeLevels(*proposer);
  impl_->refine = {LoadPart(backend, folder, "rnet"), {kRefineBatch, kRefineSide, kRefineSide, 3}, options.threads};
  impl_->decide = {LoadPart(backend, folder, "onet"), {1, kDecideSide, kDecideSide, 3}, options.threads};
}

FaceDetector::~FaceDetector() = default;

Size FaceDetector::searched_size() const {
  if (impl_->levels.empty()) return {};
  const RgbPicture& first = impl_->levels.front().picture;
  return {first.width, first.height};
}

const DetectorWork& FaceDetector::work() const { return impl_->work; }

std::vector<Face> FaceDetector::Detect(FacePicture& picture, pixel::ThreadPool& pool) {
  std::vector<Candidate> candidates;
  ++impl_->work.searches;
  for (std::size_t i = 0; i < impl_->levels.size(); ++i) {
    Level& level = impl_->levels[i];
    if (i == 0) {
      picture.Reduce(level.picture);
    } else {
      Reduce(impl_->levels[i - 1].picture, level.picture, pool);
    }
    impl_->Propose(level, candidates);
  }
  Suppress(candidates, 0.7F, Measure::kUnion);
  if (candidates.size() > kMostProposals) candidates.resize(kMostProposals);
  for (Candidate& candidate : candidates) candidate.box = Squared(Moved(candidate.box, candidate.edges));
  std::vector<Face> faces;
  for (const Candidate& candidate : impl_->Refine(picture, candidates)) {
    const Face first = impl_->Decide(picture, candidate.box);
    if (first.score < kRefined) continue;
    const Face face = impl_->Decide(picture, SquareOf(first.points));
    if (face.score >= kFound) faces.push_back(face);
  }
  Suppress(faces, 0.5F, Measure::kSmaller);
  return faces;
}

std::optional<Face> FaceDetector::Follow(FacePicture& picture, const Face& last) {
  const Face first = impl_->Decide(picture, SquareOf(last.points));
  if (first.score < kStillThere) return std::nullopt;
  const Face face = impl_->Decide(picture, SquareOf(first.points));
  if (face.score < kStillThere) return std::nullopt;
  return face;
}

std::string DetectorFolder() {
  constexpr std::string_view kLast = "onet.onnx";
  std::string path = inference::FindModule("openvino/onet.onnx");
  if (path.empty()) throw Error(ErrorCode::kUnavailable, "This build has no face detector, so faces cannot be restored.");
  path.resize(path.size() - kLast.size());
  return path;
}

bool CanDetectFaces() {
  try {
    DetectorFolder();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace reelmend::faces
