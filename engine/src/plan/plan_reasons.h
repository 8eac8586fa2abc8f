// The reasons of a plan, for people.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "reelmend/enhance.h"

namespace reelmend::plan {

/// Every stage that an option controls, with its strength and the figures that decided.
std::vector<PlannedStage> DescribeStages(const EnhanceOptions& options, const Plan& plan);

}  // namespace reelmend::plan
