// A plan with its segments as text, for the processes that make the pieces.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/segment_cuts.h"

namespace reelmend::plan {

/// Decisions for a whole video that cannot be derived again from the file with certainty.
struct PlanRecord {
  NetworkDevice device = NetworkDevice::kCpu;
  EncoderOptions encoder;
  Plan plan;  ///< the fields that Decide copies; and the source's duration, output and times
  std::vector<SegmentCut> cuts;
};

/// Lines of text. Numbers are written so that reading gives the same bits.
std::string WriteRecord(const PlanRecord& record);

/// Throws Error{kInvalidArgument} for other text, Error{kSegmentMismatch} for a plan by another engine.
PlanRecord ReadRecord(const std::string& text);

/// Sets the decisions of `record` in a plan of the same source. Throws Error{kSegmentMismatch} if another device or other
/// networks would run.
void Decide(const PlanRecord& record, const EnhanceOptions& options, NetworkDevice device, Plan& plan);

}  // namespace reelmend::plan
