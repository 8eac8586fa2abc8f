// The features of MeasureDamageFeatures in the frequency domain.
#pragma once

#include <vector>

#include "pixel/damage_grid.h"

namespace reelmend::pixel {

/// DCT spectra of the busiest and of the flattest quarter of the tiles. `across` and `down` are the absolute gradients of `p`.
void AddSpectra(const Grid& p, const Grid& across, const Grid& down, Features& features);

/// Periods in the profiles of columns and rows: how far each bin of their power exceeds its neighbours.
void AddPeriods(const std::vector<double>& across, const std::vector<double>& down, Features& features);

}  // namespace reelmend::pixel
