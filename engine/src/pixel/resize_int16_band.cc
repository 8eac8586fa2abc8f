#include "pixel/resize_int16_band.h"

#include <algorithm>

namespace reelmend::pixel {
namespace {

constexpr int kAlign = 32;  // int16 in 64 bytes

}  // namespace

void Int16Scratch::Fit(const Int16Plan& plan) {
  int source = 0;
  int output = 0;
  for (const Strip& strip : plan.strips) {
    source = std::max(source, strip.to - strip.from);
    output = std::max(output, strip.count());
  }
  const auto padded = [](int count) { return (count + 2 * kInt16Slack + kAlign - 1) / kAlign * kAlign; };
  row_stride = std::max(row_stride, padded(source));
  // Not a multiple of 4 KiB, so that rows do not evict each other from the cache.
  ring_stride = std::max(ring_stride, padded(2 * output));
  if (ring_stride % 2048 == 0) ring_stride += kAlign;
  ring_pairs = std::max(ring_pairs, plan.ring_pairs);
  rows = AlignedArray<std::int16_t>(static_cast<std::size_t>(kRows) * row_stride);
  ring = AlignedArray<std::int16_t>(static_cast<std::size_t>(ring_pairs) * ring_stride);
  beyond = AlignedArray<std::uint16_t>(static_cast<std::size_t>(ring_stride));
}

int Int16Band::ClampRow(int y) const { return std::clamp(y, 0, in_.height - 1); }

void Int16Band::Run(int first, int last) {
  for (const Strip& strip : plan_.strips) {
    strip_ = strip;
    inside_ = std::max(strip.from, 0);
    inside_end_ = std::min(strip.to, in_.width);
    if (y_.reduces) {
      VerticalFirst(first, last);
    } else {
      HorizontalFirst(first, last);
    }
  }
}

/// Inputs of the strip beyond the plane's ends repeat its first and last one. Whole vectors: rows have space for them.
void Int16Band::ReplicateEdges(std::int16_t* row) const {
  std::int16_t* const begin = row + (inside_ - strip_.from);
  std::int16_t* const end = row + (inside_end_ - strip_.from);
  for (int i = inside_ - strip_.from; i > 0; i -= kAlign) std::fill_n(begin - i, kAlign, begin[0]);
  for (int i = 0; i < strip_.to - inside_end_; i += kAlign) std::fill_n(end + i, kAlign, end[-1]);
}

/// Converts source rows 2 × pair … + 3 to the ring's rows of pairs `pair` and `pair` + 1. Rows beyond the plane repeat its
/// first and last one, so that a pair always contains the same rows.
void Int16Band::ProducePairs(int pair) {
  constexpr int kRows = 4;
  const std::int16_t* rows[kRows];
  for (int i = 0; i < kRows; ++i) {
    std::int16_t* row = s_.Row(i);
    const int y = 2 * pair + i;
    k_.load(in_.Row(ClampRow(y)) + inside_, in_.Row(ClampRow(y + kRows)) + inside_, row + (inside_ - strip_.from),
            inside_end_ - inside_);
    ReplicateEdges(row);
    rows[i] = row;
  }
  std::int16_t* outs[2] = {RingRow(pair), RingRow(pair + 1)};
  if (!plan_.twice && !plan_.thirds) return k_.columns(rows, BlocksOf(plan_.x, strip_.first, strip_.last, strip_.from), outs);
  // The first output of a strip belongs to the first phase: strips are cut accordingly.
  const int from = x_.Start(0) + strip_.first / (plan_.twice ? 2 : 3) * (plan_.twice ? 1 : 2) - strip_.from;
  for (int i = 0; i < 2; ++i) {
    const std::int16_t* two[2] = {rows[2 * i] + from, rows[2 * i + 1] + from};
    if (plan_.twice) {
      k_.twice(two, plan_.late[1], plan_.x_pairs.data(), outs[i], (strip_.count() + 1) / 2);
    } else {
      k_.thirds(two, plan_.late, plan_.x_pairs.data(), outs[i], (strip_.count() + 2) / 3 * 2);
    }
  }
}

/// Weights of outputs y … (the last one is repeated) for pairs of rows from first_row on.
Int16Sums Int16Band::SumsOf(int y, int last, int outputs, int first_row) const {
  Int16Sums sums;
  const int end = y_.Start(std::min(y + outputs, last) - 1) + plan_.y.taps;
  sums.pairs = (end - first_row + 1) / 2;
  for (int i = 0; i < outputs; ++i) {
    const int output = std::min(y + i, last - 1);
    sums.weights[i] = plan_.y.RowPairs(y_.Set(output), y_.Start(output), first_row);
  }
  return sums;
}

void Int16Band::HorizontalFirst(int first, int last) {
  constexpr int kOutputs = 2;
  constexpr int kPairs = 2;  // made by one ProducePairs
  int next = (y_.Start(first) >> 1) / kPairs * kPairs - kPairs;
  while (next + kPairs <= y_.Start(first) >> 1) next += kPairs;
  const std::int16_t* rows[Int16Sums::kMostPairs];
  for (int y = first; y < last; y += kOutputs) {
    const int pair = y_.Start(y) >> 1;  // rounds down, also below 0
    const Int16Sums sums = SumsOf(y, last, kOutputs, 2 * pair);
    for (; next < pair + sums.pairs; next += kPairs) ProducePairs(next);
    for (int k = 0; k < sums.pairs; ++k) rows[k] = RingRow(pair + k);
    const int second = std::min(y + 1, last - 1);
    std::uint16_t* outs[kOutputs] = {Out(y), Out(second)};
    std::uint16_t* ahead[kOutputs] = {Out(std::min(y + 2, last - 1)), Out(std::min(y + 3, last - 1))};
    k_.vertical(rows, sums, outs, ahead, strip_.count());
  }
}

/// Vertical sums of outputs y … y + group − 1 into the scratch's rows, at half scale.
void Int16Band::SumRows(int y, int last) {
  const std::uint16_t* rows[2 * Int16Sums::kMostPairs];
  std::int16_t* outs[Int16Scratch::kRows];
  const int first = y_.Start(y);
  for (int i = 0; i < Int16Scratch::kRows; ++i) outs[i] = s_.Row(i) + (inside_ - strip_.from);
  for (int k = 0; k < 2 * Int16Sums::kMostPairs; ++k) rows[k] = in_.Row(ClampRow(first + k)) + inside_;
  if (plan_.halves_y) {
    k_.halve_rows(rows, plan_.y_pairs.data(), outs, inside_end_ - inside_);
  } else {
    k_.vertical_first(rows, SumsOf(y, last, Int16Sums::kOutputs, first), outs, inside_end_ - inside_);
  }
  for (int i = 0; i < Int16Scratch::kRows; ++i) ReplicateEdges(s_.Row(i));
}

/// Converts the scratch's rows to outputs y ….
void Int16Band::HorizontalOut(int y, int last) {
  if (plan_.halves_x) {
    for (int i = 0; i < Int16Scratch::kRows && y + i < last; ++i) {
      k_.halve_out(s_.Row(i) + (x_.Start(strip_.first) - strip_.from), plan_.x_pairs.data(), Out(y + i), strip_.count());
    }
    return;
  }
  for (int i = 0; i < Int16Scratch::kRows && y + i < last; i += 4) {
    const std::int16_t* rows[4];
    std::uint16_t* outs[4];
    for (int r = 0; r < 4; ++r) {
      rows[r] = s_.Row(i + r);
      outs[r] = y + i + r < last ? Out(y + i + r) : s_.beyond.get();
    }
    k_.columns_out(rows, BlocksOf(plan_.x, strip_.first, strip_.last, strip_.from), outs);
  }
}

void Int16Band::VerticalFirst(int first, int last) {
  for (int y = first; y < last; y += Int16Scratch::kRows) {
    SumRows(y, last);
    HorizontalOut(y, last);
  }
}

}  // namespace reelmend::pixel
