#pragma once

// Made by tools/math/minimax.py: change that program, not this file.

namespace aorta::scalar::coefficients {

// (e^r - 1 - r)/r^2, |r| <= ln(2)/2, error relative to e^r - 1: 2^-26.1.
inline constexpr float kExpTail[] = {4.99999970e-01f, 1.66665435e-01f, 4.16673496e-02f,
                                     8.36663228e-03f, 1.38825539e-03f};

// A term less than kExpTail, error relative to e^r: 2^-23.2.
inline constexpr float kExpTailShort[] = {4.99992311e-01f, 1.66671142e-01f, 4.18901928e-02f,
                                          8.31250288e-03f};

// kExpTail for double arithmetic: 2^-32.0.
inline constexpr double kExpTailDouble[] = {5.0000000441412029e-01, 1.6666666370242789e-01,
                                            4.1666360991154547e-02, 8.3333894309009209e-03,
                                            1.3940621189756140e-03, 1.9845837385813950e-04};

// (2^r - 1)/r, |r| <= 1/2, error relative to 2^r: 2^-27.6.
inline constexpr float kExp2[] = {6.93147182e-01f, 2.40226462e-01f, 5.55034466e-02f,
                                  9.61854868e-03f, 1.33989565e-03f, 1.53533780e-04f};

// kExp2 for double arithmetic: 2^-34.3.
inline constexpr double kExp2Double[] = {
    6.9314718070453130e-01, 2.4022651066561770e-01, 5.5504103659994850e-02, 9.6180381319125492e-03,
    1.3333935048595318e-03, 1.5466756371212249e-04, 1.5196158140173879e-05};

// (log(1 + f) - f + f^2/2)/f^3, sqrt(1/2) <= 1 + f <= sqrt(2), error relative to log(1 + f):
// 2^-27.3.
inline constexpr float kLogTail[] = {3.33333313e-01f,  -2.50008196e-01f, 2.00012296e-01f,
                                     -1.66233763e-01f, 1.42017812e-01f,  -1.31602451e-01f,
                                     1.27617612e-01f,  -7.63461068e-02f};

// log2((1 + s)/(1 - s))/s in s^2, sqrt(1/2) <= (1 + s)/(1 - s) <= sqrt(2), relative: 2^-42.4.
inline constexpr double kLog2Double[] = {2.8853900817784077e+00, 9.6179669322583961e-01,
                                         5.7707817410894013e-01, 4.1218780549866074e-01,
                                         3.2072179331289241e-01, 2.7197995159192057e-01};

// (sin(r)/r - 1)/r^2 in r^2, |r| <= pi/4, error relative to sin: 2^-30.4.
inline constexpr float kSinTail[] = {-1.66666672e-01f, 8.33333936e-03f, -1.98392983e-04f,
                                     2.71812632e-06f};

// (cos(r) - 1 + r^2/2)/r^4 in r^2, |r| <= pi/4, error of cos: 2^-32.9.
inline constexpr float kCosTail[] = {4.16666456e-02f, -1.38873456e-03f, 2.44385246e-05f};

// (tan(r)/r - 1)/r^2 in r^2, |r| <= pi/4, error relative to tan: 2^-28.9.
inline constexpr float kTanTail[] = {3.33333492e-01f, 1.33326635e-01f, 5.40599860e-02f,
                                     2.12818626e-02f, 1.08366748e-02f, 8.84208857e-05f,
                                     4.37683659e-03f};

// (atan(t)/t - 1)/t^2 in t^2, |t| <= 1, error relative to atan: 2^-28.0.
inline constexpr float kAtanTail[] = {-3.33332986e-01f, 1.99985459e-01f,  -1.42642394e-01f,
                                      1.09521851e-01f,  -8.40345025e-02f, 5.79575971e-02f,
                                      -3.11778486e-02f, 1.09146079e-02f,  -1.79362216e-03f};

// (asin(t)/t - 1)/t^2 in t^2, |t| <= 1/2, error relative to asin: 2^-27.6.
inline constexpr float kAsinTail[] = {1.66667521e-01f, 7.49529973e-02f, 4.54703644e-02f,
                                      2.41795573e-02f, 4.21662182e-02f};

// (sinh(t)/t - 1)/t^2 in t^2, |t| <= 1, error relative to sinh: 2^-29.5.
inline constexpr float kSinhTail[] = {1.66666672e-01f, 8.33334215e-03f, 1.98361347e-04f,
                                      2.81694497e-06f};

// (tanh(t)/t - 1)/t^2 in t^2, |t| <= 0.7, error relative to tanh: 2^-25.8.
inline constexpr float kTanhTail[] = {-3.33331883e-01f, 1.33291066e-01f, -5.35588562e-02f,
                                      2.00919751e-02f, -5.13866777e-03f};

// erf(t)/t - 1 in t^2, |t| <= 0.9, error relative to erf: 2^-26.1.
inline constexpr float kErfSmall[] = {1.28379151e-01f,  -3.76125216e-01f, 1.12821393e-01f,
                                      -2.67789103e-02f, 5.01196366e-03f,  -6.09036186e-04f};

// log(erfc(t)), 0.9 <= t <= 4, error relative to erf: 2^-28.9.
inline constexpr float kErfLarge[] = {-1.66448168e-04f, -1.12779725e+00f, -6.36976123e-01f,
                                      -1.04113609e-01f, 2.23151855e-02f,  -3.06548411e-03f,
                                      1.98215173e-04f};

// (t + 3) e^(t^2) erfc(t) in 1/(t + 3), 0 <= t <= 10.1, relative: 2^-28.9.
inline constexpr double kErfcTail[] = {5.6410798199019341e-01,  1.6981265072547500e+00,
                                       4.6297983793001842e+00,  1.5544414300680874e+01,
                                       -2.9788504754824607e-01, 2.9321587541933769e+02,
                                       -9.6147182489443105e+02, 3.5073622453583084e+03,
                                       -5.7408179853933061e+03, 3.2848405550364128e+03};

// erfinv(x)/x in w from 0 to 6.25, where w = -log(1 - x^2), relative: 2^-30.8.
inline constexpr double kErfinvSmall[] = {
    8.8622692592395780e-01,  2.3201364114301243e-01,  1.1549563691265981e-02,
    -2.3358385816851313e-03, -1.2682892698106561e-04, 4.5513717370358391e-05,
    2.5553822516447452e-06,  -1.1065190472173055e-06, -7.8316861458763736e-08,
    5.3139223634316000e-08,  -7.5689169719132178e-09, 4.9626275456606267e-10,
    -1.3092343152793360e-11};

// erfinv(x)/x in sqrt(w) from 2.5 to 4.1, where w = -log(1 - x^2), relative: 2^-28.6.
inline constexpr double kErfinvLarge[] = {7.1190694363116327e-02,  3.5717469316153467e+00,
                                          -5.8217301331135829e+00, 5.4321493141461143e+00,
                                          -2.8750494687018118e+00, 9.5202110704762222e-01,
                                          -2.0232212271751848e-01, 2.6955032081934029e-02,
                                          -2.0579754562180083e-03, 6.8917962236359823e-05};

// erfinv(x)/x in sqrt(w) from 4 to 6.2, where w = -log(1 - x^2), relative: 2^-24.2.
inline constexpr double kErfinvFar[] = {-6.2938947842055143e-02, 8.9083309371016306e-01,
                                        4.0761944336853081e-02,  -6.9060553882430041e-03,
                                        5.8468979351903498e-04,  -2.0013654843805527e-05};

// (log((1 + s)/(1 - s))/s - 2)/s^2 in s^2, as kLog2Double, error relative to log: 2^-60.7.
inline constexpr double kLogTailDouble[] = {
    6.6666666666666663e-01, 3.9999999999999936e-01, 2.8571428571458474e-01,
    2.2222222215364759e-01, 1.8181819070642405e-01, 1.5384545914244627e-01,
    1.3336669392088327e-01, 1.1668682882499493e-01, 1.2033805889132256e-01};

// sin(pi r)/r in r^2, |r| <= 1/2, relative: 2^-54.5.
inline constexpr double kSinPi[] = {
    3.1415926535897931e+00,  -5.1677127800499694e+00, 2.5501640398772940e+00,
    -5.9926452931873830e-01, 8.2145886569893078e-02,  -7.3704304787642009e-03,
    4.6629968877517729e-04,  -2.1903185417470745e-05, 7.6947272555909824e-07};

// cos(pi r) in r^2, |r| <= 1/2: 2^-52.9.
inline constexpr double kCosPi[] = {
    1.0000000000000000e+00,  -4.9348022005446763e+00, 4.0587121264164976e+00,
    -1.3352627688434646e+00, 2.3533063012980779e-01,  -2.5806888739347875e-02,
    1.9295562835699004e-03,  -1.0456658068067611e-04, 4.1495916455765153e-06};

// log(gamma(x))/((x - 1)(x - 2)) in x - 1.75, |x - 1.75| <= 1, relative: 2^-36.8.
inline constexpr double kLgammaNear[] = {
    4.5013931210566283e-01,  -1.1948158660180844e-01, 4.4520447903751877e-02,
    -1.9053959505988902e-02, 8.7763476634071438e-03,  -4.2261589360813199e-03,
    2.0958175168050196e-03,  -1.0609034696879591e-03, 5.4311399427058005e-04,
    -2.8142383616229342e-04, 1.5489148019806224e-04,  -8.3969077963939092e-05,
    2.8043268671048722e-05,  -1.1688553704429818e-05, 2.9598231135820295e-05,
    -1.8957333380395157e-05, -9.5755768928713156e-06, 6.6987848721399852e-06,
    5.6845235663908732e-06,  -3.4149342228559043e-06};

// e^(t^2/2) times the upper tail of the normal distribution, 0 <= t <= 14.5, relative: 2^-26.0.
inline constexpr float kNormalTailNumerator[] = {4.99999911e-01f, 4.38259155e-01f, 1.83207646e-01f,
                                                 4.06236500e-02f, 4.11479920e-03f};

inline constexpr float kNormalTailDenominator[] = {9.99999821e-01f, 1.67440307e+00f,
                                                   1.20239103e+00f, 4.69397783e-01f,
                                                   1.01834849e-01f, 1.03141516e-02f};

// Row b: 1/(2 pi) less the bits that make whole turns of multiples of 2^(27b): 29 bits, 28 bits,
// the rest.
inline constexpr double kTurns[4][3] = {
    {0x1.45f306c000000p-3, 0x1.c9c8828000000p-31, 0x1.29fc2757d1f53p-58},
    {0x1.b939105000000p-28, 0x1.29fc274000000p-58, 0x1.7d1f534ddc0dbp-86},
    {0x1.4a7f09c000000p-56, 0x1.5f47d4c000000p-84, 0x1.377036d8a5665p-112},
    {0x1.57d1f53000000p-82, 0x1.377036c000000p-112, 0x1.8a5664f10e410p-140}};

}  // namespace aorta::scalar::coefficients
