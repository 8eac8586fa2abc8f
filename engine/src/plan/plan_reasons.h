// The plan in words.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "reelmend/enhance.h"

namespace reelmend::plan {

/// Every stage that an option governs, with the strength that it will have and the figures that decided.
std::vector<PlannedStage> DescribeStages(const EnhanceOptions& options, const Plan& plan);

}  // namespace reelmend::plan
