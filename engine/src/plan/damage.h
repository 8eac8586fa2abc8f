// What is wrong with a video, measured on a few of its pictures.
#pragma once

namespace reelmend::plan {

/// What a source has suffered before it came here, judged by its pictures alone: an older, worse encode counts as well as
/// the last one. The values of a clean, sharp source are those below. Luma in 8-bit levels of limited range (black 16,
/// white 235), HDR after tone mapping; lengths in pixels of the source.
struct DamageEstimate {
  bool known = false;           ///< whether there was enough to see: false for tiny, blank or unreadable pictures
  float compression_error = 0;  ///< what all encodes together changed, RMS in levels, 0…30
  float true_scale = 1;         ///< resolution of the recording as a share of the nominal one (per axis), 0.2…1
  float blur_sigma = 0;         ///< standard deviation of the blur of lens and motion, pixels, 0…4
  float noise_sigma = 0;        ///< what is left of a sensor's noise, standard deviation in levels, 0…30
  float error = 0;              ///< RMS of luma against the clean picture: all damage together, 0…60
  float black_level = 16;       ///< darkest level in use, 0…255; median over the pictures
  float white_level = 235;      ///< brightest level in use, 0…255; median over the pictures
};

}  // namespace reelmend::plan
