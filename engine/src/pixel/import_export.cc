// Import and ExportYuv420p8: sample layouts of decoders and encoders ↔ Note [Working samples] in image.h.
#include <cstring>
#include <functional>

#include "reelmend/error.h"
#include "pixel/scratch.h"
#include "pixel/stages.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel/import_export.cc"
#include "pixel/simd_targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace reelmend::pixel {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::CappedTag<uint16_t, 32>;
using D8 = hn::Rebind<uint8_t, D16>;

/// 8-bit samples to working samples. Source rows may end at their last sample, so nothing is read past it.
void Expand8To16(const uint8_t* in, uint16_t* out, int count) {
  const D16 d16;
  const D8 d8;
  const int lanes = static_cast<int>(hn::Lanes(d16));
  int x = 0;
  for (; x + lanes <= count; x += lanes) {
    hn::StoreU(hn::ShiftLeft<8>(hn::PromoteTo(d16, hn::LoadU(d8, in + x))), d16, out + x);
  }
  for (; x < count; ++x) out[x] = static_cast<uint16_t>(in[x] << 8);
}

/// Right-aligned samples of 9…16 bits, `shift` = 16 − bits.
void Shift16(const uint8_t* in, uint16_t* out, int count, int shift) {
  const D16 d16;
  const int lanes = static_cast<int>(hn::Lanes(d16));
  const auto* samples = reinterpret_cast<const uint16_t*>(in);
  int x = 0;
  for (; x + lanes <= count; x += lanes) {
    hn::StoreU(hn::ShiftLeftSame(hn::LoadU(d16, samples + x), shift), d16, out + x);
  }
  for (; x < count; ++x) out[x] = static_cast<uint16_t>(samples[x] << shift);
}

void Split8(const uint8_t* in, uint16_t* first, uint16_t* second, int count) {
  const D16 d16;
  const D8 d8;
  const int lanes = static_cast<int>(hn::Lanes(d16));
  int x = 0;
  for (; x + lanes <= count; x += lanes) {
    hn::Vec<D8> a;
    hn::Vec<D8> b;
    hn::LoadInterleaved2(d8, in + 2 * x, a, b);
    hn::StoreU(hn::ShiftLeft<8>(hn::PromoteTo(d16, a)), d16, first + x);
    hn::StoreU(hn::ShiftLeft<8>(hn::PromoteTo(d16, b)), d16, second + x);
  }
  for (; x < count; ++x) {
    first[x] = static_cast<uint16_t>(in[2 * x] << 8);
    second[x] = static_cast<uint16_t>(in[2 * x + 1] << 8);
  }
}

void Split16(const uint8_t* in, uint16_t* first, uint16_t* second, int count, int shift) {
  const D16 d16;
  const int lanes = static_cast<int>(hn::Lanes(d16));
  const auto* samples = reinterpret_cast<const uint16_t*>(in);
  int x = 0;
  for (; x + lanes <= count; x += lanes) {
    hn::Vec<D16> a;
    hn::Vec<D16> b;
    hn::LoadInterleaved2(d16, samples + 2 * x, a, b);
    hn::StoreU(hn::ShiftLeftSame(a, shift), d16, first + x);
    hn::StoreU(hn::ShiftLeftSame(b, shift), d16, second + x);
  }
  for (; x < count; ++x) {
    first[x] = static_cast<uint16_t>(samples[2 * x] << shift);
    second[x] = static_cast<uint16_t>(samples[2 * x + 1] << shift);
  }
}

/// Rounds to 8 bits, halves up, saturated.
void Round16To8(const uint16_t* in, uint8_t* out, int count) {
  const D16 d16;
  const D8 d8;
  const hn::Rebind<int16_t, D16> i16;
  const auto half = hn::Set(d16, uint16_t{128});
  const int lanes = static_cast<int>(hn::Lanes(d16));
  int x = 0;
  for (; x + lanes <= count; x += lanes) {
    const auto level = hn::ShiftRight<8>(hn::SaturatedAdd(hn::LoadU(d16, in + x), half));
    hn::StoreU(hn::DemoteTo(d8, hn::BitCast(i16, level)), d8, out + x);
  }
  for (; x < count; ++x) out[x] = static_cast<uint8_t>(in[x] >= 0xFF80 ? 255 : (in[x] + 128) >> 8);
}

}  // namespace HWY_NAMESPACE
}  // namespace reelmend::pixel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reelmend::pixel {
namespace {

HWY_EXPORT(Expand8To16);
HWY_EXPORT(Shift16);
HWY_EXPORT(Split8);
HWY_EXPORT(Split16);
HWY_EXPORT(Round16To8);

constexpr int kGrainRows = 32;
constexpr std::uint16_t kNeutral = 0x8000;

struct RowCopier {
  const PackedLayout& layout;

  int shift() const { return layout.left_aligned ? 0 : 16 - layout.bits; }

  void Planar(const std::uint8_t* in, std::uint16_t* out, int count) const {
    if (layout.bits == 8) {
      HWY_DYNAMIC_DISPATCH(Expand8To16)(in, out, count);
    } else {
      HWY_DYNAMIC_DISPATCH(Shift16)(in, out, count, shift());
    }
  }

  void SemiPlanar(const std::uint8_t* in, std::uint16_t* first, std::uint16_t* second, int count) const {
    if (layout.bits == 8) {
      HWY_DYNAMIC_DISPATCH(Split8)(in, first, second, count);
    } else {
      HWY_DYNAMIC_DISPATCH(Split16)(in, first, second, count, shift());
    }
  }
};

void FillNeutral(std::uint16_t* row, int count) {
  for (int x = 0; x < count; ++x) row[x] = kNeutral;
}

}  // namespace

void Import(const RawPlanes& raw, const PackedLayout& layout, Image& out, ThreadPool& pool) {
  if (out.subsampling() != layout.subsampling || layout.bits < 8 || layout.bits > 16) {
    throw Error(ErrorCode::kInternal, "A frame's layout does not fit the picture that it is imported into.");
  }
  const RowCopier copy{layout};
  const Plane planes[3] = {out.plane(0), out.plane(1), out.plane(2)};
  const auto import_rows = [&](int plane, int first, int last) {
    for (int y = first; y < last; ++y) {
      const Plane& to = planes[plane];
      if (plane > 0 && layout.gray) {
        FillNeutral(to.Row(y), to.width);
      } else if (plane > 0 && layout.semi_planar) {
        if (plane == 2) continue;  // written together with plane 1
        const std::uint8_t* row = raw.data[1] + y * raw.stride[1];
        copy.SemiPlanar(row, planes[layout.swap_chroma ? 2 : 1].Row(y),
                        planes[layout.swap_chroma ? 1 : 2].Row(y), to.width);
      } else {
        const int source = plane > 0 && layout.swap_chroma ? 3 - plane : plane;
        copy.Planar(raw.data[source] + y * raw.stride[source], to.Row(y), to.width);
      }
    }
  };
  ParallelPlaneRows(out, kGrainRows, pool, import_rows);
}

void ExportYuv420p8(const Image& image, const MutableRawPlanes& raw, ThreadPool& pool) {
  if (image.subsampling() != Subsampling{}) {
    throw Error(ErrorCode::kInternal, "Only 4:2:0 pictures can be handed to the encoder.");
  }
  const auto export_rows = [&](int plane, int first, int last) {
    const ConstPlane from = image.plane(plane);
    for (int y = first; y < last; ++y) {
      HWY_DYNAMIC_DISPATCH(Round16To8)(from.Row(y), raw.data[plane] + y * raw.stride[plane], from.width);
    }
  };
  ParallelPlaneRows(image, kGrainRows, pool, export_rows);
}

}  // namespace reelmend::pixel
#endif
