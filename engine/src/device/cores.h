// How many processor cores this process may use.
#pragma once

namespace reelmend::device {

/// Cores of the affinity mask, lowered to the cgroup's CPU quota where there is one; at least 1.
int AvailableCores();

}  // namespace reelmend::device
