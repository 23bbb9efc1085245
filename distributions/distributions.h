#pragma once

// All of the room's headers.

#include <aorta/distributions/bernoulli.h>                     // IWYU pragma: export
#include <aorta/distributions/binomial.h>                      // IWYU pragma: export
#include <aorta/distributions/categorical.h>                   // IWYU pragma: export
#include <aorta/distributions/cholesky_transforms.h>           // IWYU pragma: export
#include <aorta/distributions/constraint.h>                    // IWYU pragma: export
#include <aorta/distributions/covariance.h>                    // IWYU pragma: export
#include <aorta/distributions/distribution.h>                  // IWYU pragma: export
#include <aorta/distributions/gamma.h>                         // IWYU pragma: export
#include <aorta/distributions/heavy_tailed.h>                  // IWYU pragma: export
#include <aorta/distributions/independent.h>                   // IWYU pragma: export
#include <aorta/distributions/kl.h>                            // IWYU pragma: export
#include <aorta/distributions/lkj_cholesky.h>                  // IWYU pragma: export
#include <aorta/distributions/location_scale.h>                // IWYU pragma: export
#include <aorta/distributions/logistic_normal.h>               // IWYU pragma: export
#include <aorta/distributions/low_rank_multivariate_normal.h>  // IWYU pragma: export
#include <aorta/distributions/mixture.h>                       // IWYU pragma: export
#include <aorta/distributions/multivariate_normal.h>           // IWYU pragma: export
#include <aorta/distributions/normal.h>                        // IWYU pragma: export
#include <aorta/distributions/parameters.h>                    // IWYU pragma: export
#include <aorta/distributions/poisson.h>                       // IWYU pragma: export
#include <aorta/distributions/relaxed.h>                       // IWYU pragma: export
#include <aorta/distributions/shape_transforms.h>              // IWYU pragma: export
#include <aorta/distributions/transformed_distribution.h>      // IWYU pragma: export
#include <aorta/distributions/transforms.h>                    // IWYU pragma: export
#include <aorta/distributions/unit_interval.h>                 // IWYU pragma: export
#include <aorta/distributions/von_mises.h>                     // IWYU pragma: export
#include <aorta/distributions/wishart.h>                       // IWYU pragma: export
