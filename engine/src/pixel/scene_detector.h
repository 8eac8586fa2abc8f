// Detects scene cuts, once per picture for all stages that look back in time.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "pixel/image.h"
#include "pixel/thread_pool.h"

namespace reelmend::pixel {

/// Note [Scene cuts]
/// Pictures are compared as luma thumbnails: means of 8 × 8 samples (smaller cells if fewer than 32 × 18 would
/// remain; every second row is read). A picture starts a new scene if all three hold:
/// - the mean absolute difference of the thumbnails is at least kMinDifference levels: fades change less per frame;
/// - the histograms (64 bins of 4 levels) differ in at least kMinHistogram of their mass: pans, shakes and moving
///   objects keep theirs;
/// - the mean absolute difference of the thumbnails without their means, over the sum of their own mean absolute
///   deviations, is at least kMinStructure: it is 0.7 for unrelated pictures, and below 0.4 if one is up to 2.3 times
///   as bright as the other: flashes and changing light keep the structure.
/// Two more rules for flashes to white and single black frames: a picture without structure (deviation below
/// kMinDeviation) starts no scene, and one that follows such a picture starts none if it resembles the one before it.
/// So the decision depends only on the picture and the two before it, and segments of a video agree on its cuts.
class SceneDetector {
 public:
  static constexpr float kMinDifference = 8;
  static constexpr float kMinHistogram = 0.25F;
  static constexpr float kMinStructure = 0.45F;
  static constexpr float kMinDeviation = 3;

  SceneDetector(int width, int height);

  /// Whether `image` begins a scene. The first picture does. Throws Error for a picture of another size.
  bool IsCut(const Image& image, ThreadPool& pool);

 private:
  struct Thumbnail {
    std::vector<float> levels;
    std::array<float, 64> histogram = {};
    float mean = 0;
    float deviation = 0;  ///< mean absolute
  };
  void Shrink(const Image& image, Thumbnail& out, ThreadPool& pool) const;
  static bool Differ(const Thumbnail& a, const Thumbnail& b);

  int width_;
  int height_;
  int cell_;
  int columns_;
  int rows_;
  std::array<Thumbnail, 3> ring_;  ///< of this picture and the two before it
  int next_ = 0;
  int seen_ = 0;
};

}  // namespace reelmend::pixel
