#include <utility>

#include "device/cores.h"
#include "media/byte_io.h"
#include "media/demuxer.h"
#include "media/frame_index.h"
#include "plan/plan_record.h"
#include "reelmend/error.h"
#include "reelmend/segments.h"
#include "run/open_processor.h"
#include "run/with_engine_errors.h"

namespace reelmend {
namespace {

/// The cuts; for a single segment, the reason.
struct Cutting {
  std::vector<plan::SegmentCut> cuts;
  std::string why_whole;
};

Cutting Cut(const std::string& path, const plan::Plan& plan, const EnhanceOptions& options, const SegmentLengths& lengths,
            const EnhanceCallbacks& callbacks) {
  if (plan.source.duration_s < 2 * lengths.shortest_s) return {{}, "it is short"};
  media::FileSource source(path);
  media::Demuxer demuxer(source, {options.limits, callbacks.is_cancelled});
  const media::FrameIndex index = media::ReadFrameIndex(demuxer, plan.first_timestamp);
  if (!index.why_unknown.empty()) return {{}, index.why_unknown};
  Cutting cutting{plan::ChooseCuts(index, demuxer.video()->time_base, plan.time_base, lengths), ""};
  if (cutting.cuts.size() < 2) cutting.why_whole = "it is short";
  return cutting;
}

SegmentPlan MakeSegments(const std::string& input_path, const EnhanceOptions& options, const SegmentLengths& lengths,
                         const EnhanceCallbacks& callbacks) {
  plan::CheckOptions(options);
  if (!(lengths.shortest_s > 0 && lengths.wanted_s >= lengths.shortest_s && lengths.longest_s >= 2 * lengths.shortest_s)) {
    throw Error(ErrorCode::kInvalidArgument, "The lengths of segments must have 0 < shortest ≤ wanted, and 2 × shortest ≤ longest.");
  }
  const auto processor = run::OpenProcessor(options.device, options.model);
  EnhanceOptions supported = options;
  if (!processor->runs_networks()) supported.models.clear();
  const int threads = options.threads > 0 ? options.threads : device::AvailableCores();
  plan::PlanRecord record;
  record.device = processor->network_device();
  record.encoder = options.encoder;
  record.plan = plan::MakePlan(input_path, supported, {threads, callbacks.is_cancelled, record.device});
  Cutting cutting = Cut(input_path, record.plan, options, lengths, callbacks);
  record.cuts = std::move(cutting.cuts);
  const plan::Plan& made = record.plan;
  SegmentPlan result;
  result.plan = {made.source, made.output.width, made.output.height, processor->name(), made.model, made.stages, made.condition};
  result.why_whole = std::move(cutting.why_whole);
  for (const plan::SegmentCut& cut : record.cuts) {
    result.segments.push_back(plan::SpanOf(cut, made.time_base, made.source.duration_s));
  }
  if (record.cuts.size() > 1) {
    result.text = plan::WriteRecord(record);
  } else {
    result.segments = {{0, made.source.duration_s, 0}};
  }
  return result;
}

}  // namespace

SegmentPlan PlanSegments(const std::string& input_path, const EnhanceOptions& options, const SegmentLengths& lengths,
                         const EnhanceCallbacks& callbacks) {
  return run::WithEngineErrors([&] { return MakeSegments(input_path, options, lengths, callbacks); });
}

}  // namespace reelmend
