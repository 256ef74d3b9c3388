"""Bessel functions of order zero and one, and their modified and scaled forms.

The approximations and their coefficients are those of the Cephes library by S. L. Moshier:
Chebyshev series for the modified functions; for the others rational functions up to 5, with the
first zeros as factors, and beyond that the asymptotic form by modulus and phase.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from retrograd.backend.namespace import Namespace
from retrograd.backend.neutral.pieces import Array, Kernel, elementwise_in_float64, fill_region
from retrograd.backend.neutral.series import chebyshev_series, polynomial

_TWO_OVER_PI = 2 / math.pi
_SQRT_TWO_OVER_PI = math.sqrt(2 / math.pi)
_Wave = Callable[[Array], Array]

# exp(-x) I(x) on [0, 8], with a factor x for order one, as Chebyshev series in x / 2 - 2;
# exp(-x) sqrt(x) I(x) on [8, inf], as Chebyshev series in 32 / x - 2.
_I0_NEAR = (
    -4.41534164647933937950e-18,
    3.33079451882223809783e-17,
    -2.43127984654795469359e-16,
    1.71539128555513303061e-15,
    -1.16853328779934516808e-14,
    7.67618549860493561688e-14,
    -4.85644678311192946090e-13,
    2.95505266312963983461e-12,
    -1.72682629144155570723e-11,
    9.67580903537323691224e-11,
    -5.18979560163526290666e-10,
    2.65982372468238665035e-9,
    -1.30002500998624804212e-8,
    6.04699502254191894932e-8,
    -2.67079385394061173391e-7,
    1.11738753912010371815e-6,
    -4.41673835845875056359e-6,
    1.64484480707288970893e-5,
    -5.75419501008210370398e-5,
    1.88502885095841655729e-4,
    -5.76375574538582365885e-4,
    1.63947561694133579842e-3,
    -4.32430999505057594430e-3,
    1.05464603945949983183e-2,
    -2.37374148058994688156e-2,
    4.93052842396707084878e-2,
    -9.49010970480476444210e-2,
    1.71620901522208775349e-1,
    -3.04682672343198398683e-1,
    6.76795274409476084995e-1,
)
_I0_FAR = (
    -7.23318048787475395456e-18,
    -4.83050448594418207126e-18,
    4.46562142029675999901e-17,
    3.46122286769746109310e-17,
    -2.82762398051658348494e-16,
    -3.42548561967721913462e-16,
    1.77256013305652638360e-15,
    3.81168066935262242075e-15,
    -9.55484669882830764870e-15,
    -4.15056934728722208663e-14,
    1.54008621752140982691e-14,
    3.85277838274214270114e-13,
    7.18012445138366623367e-13,
    -1.79417853150680611778e-12,
    -1.32158118404477131188e-11,
    -3.14991652796324136454e-11,
    1.18891471078464383424e-11,
    4.94060238822496958910e-10,
    3.39623202570838634515e-9,
    2.26666899049817806459e-8,
    2.04891858946906374183e-7,
    2.89137052083475648297e-6,
    6.88975834691682398426e-5,
    3.36911647825569408990e-3,
    8.04490411014108831608e-1,
)
_I1_NEAR = (
    2.77791411276104639959e-18,
    -2.11142121435816608115e-17,
    1.55363195773620046921e-16,
    -1.10559694773538630805e-15,
    7.60068429473540693410e-15,
    -5.04218550472791168711e-14,
    3.22379336594557470981e-13,
    -1.98397439776494371520e-12,
    1.17361862988909016308e-11,
    -6.66348972350202774223e-11,
    3.62559028155211703701e-10,
    -1.88724975172282928790e-9,
    9.38153738649577178388e-9,
    -4.44505912879632808065e-8,
    2.00329475355213526229e-7,
    -8.56872026469545474066e-7,
    3.47025130813767847674e-6,
    -1.32731636560394358279e-5,
    4.78156510755005422638e-5,
    -1.61760815825896745588e-4,
    5.12285956168575772895e-4,
    -1.51357245063125314899e-3,
    4.15642294431288815669e-3,
    -1.05640848946261981558e-2,
    2.47264490306265168283e-2,
    -5.29459812080949914269e-2,
    1.02643658689847095384e-1,
    -1.76416518357834055153e-1,
    2.52587186443633654823e-1,
)
_I1_FAR = (
    7.51729631084210481353e-18,
    4.41434832307170791151e-18,
    -4.65030536848935832153e-17,
    -3.20952592199342395980e-17,
    2.96262899764595013876e-16,
    3.30820231092092828324e-16,
    -1.88035477551078244854e-15,
    -3.81440307243700780478e-15,
    1.04202769841288027642e-14,
    4.27244001671195135429e-14,
    -2.10154184277266431302e-14,
    -4.08355111109219731823e-13,
    -7.19855177624590851209e-13,
    2.03562854414708950722e-12,
    1.41258074366137813316e-11,
    3.25260358301548823856e-11,
    -1.89749581235054123450e-11,
    -5.58974346219658380687e-10,
    -3.83538038596423702205e-9,
    -2.63146884688951950684e-8,
    -2.51223623787020892529e-7,
    -3.88256480887769039346e-6,
    -1.10588938762623716291e-4,
    -9.76109749136146840777e-3,
    7.78576235018280120474e-1,
)


class _Order(NamedTuple):
    """The coefficients of J and Y of one order; highest power first."""

    phase: float
    # P and Q of the asymptotic form, in (5 / x)^2.
    p: tuple[tuple[float, ...], tuple[float, ...]]
    q: tuple[tuple[float, ...], tuple[float, ...]]
    # J up to 5, in x^2, without the squares of its first two zeros; the same for Y without
    # its logarithm.
    j: tuple[tuple[float, ...], tuple[float, ...]]
    zeros: tuple[float, float]
    y: tuple[tuple[float, ...], tuple[float, ...]]


_ORDER_0 = _Order(
    phase=0.25 * math.pi,
    p=(
        (
            7.96936729297347051624e-4,
            8.28352392107440799803e-2,
            1.23953371646414299388,
            5.44725003058768775090,
            8.74716500199817011941,
            5.30324038235394892183,
            9.99999999999999997821e-1,
        ),
        (
            9.24408810558863637013e-4,
            8.56288474354474431428e-2,
            1.25352743901058953537,
            5.47097740330417105182,
            8.76190883237069594232,
            5.30605288235394617618,
            1.00000000000000000218,
        ),
    ),
    q=(
        (
            -1.13663838898469149931e-2,
            -1.28252718670509318512,
            -1.95539544257735972385e1,
            -9.32060152123768231369e1,
            -1.77681167980488050595e2,
            -1.47077505154951170175e2,
            -5.14105326766599330220e1,
            -6.05014350600728481186,
        ),
        (
            1.0,
            6.43178256118178023184e1,
            8.56430025976980587198e2,
            3.88240183605401609683e3,
            7.24046774195652478189e3,
            5.93072701187316984827e3,
            2.06209331660327847417e3,
            2.42005740240291393179e2,
        ),
    ),
    j=(
        (
            -4.79443220978201773821e9,
            1.95617491946556577543e12,
            -2.49248344360967716204e14,
            9.70862251047306323952e15,
        ),
        (
            1.0,
            4.99563147152651017219e2,
            1.73785401676374683123e5,
            4.84409658339962045305e7,
            1.11855537045356834862e10,
            2.11277520115489217587e12,
            3.10518229857422583814e14,
            3.18121955943204943306e16,
            1.71086294081043136091e18,
        ),
    ),
    zeros=(5.78318596294678452118, 30.4712623436620863991),
    y=(
        (
            1.55924367855235737965e4,
            -1.46639295903971606143e7,
            5.43526477051876500413e9,
            -9.82136065717911466409e11,
            8.75906394395366999549e13,
            -3.46628303384729719441e15,
            4.42733268572569800351e16,
            -1.84950800436986690637e16,
        ),
        (
            1.0,
            1.04128353664259848412e3,
            6.26107330137134956842e5,
            2.68919633393814121987e8,
            8.64002487103935000337e10,
            2.02979612750105546709e13,
            3.17157752842975028269e15,
            2.50596256172653059228e17,
        ),
    ),
)
_ORDER_1 = _Order(
    phase=0.75 * math.pi,
    p=(
        (
            7.62125616208173112003e-4,
            7.31397056940917570436e-2,
            1.12719608129684925192,
            5.11207951146807644818,
            8.42404590141772420927,
            5.21451598682361504063,
            1.00000000000000000254,
        ),
        (
            5.71323128072548699714e-4,
            6.88455908754495404082e-2,
            1.10514232634061696926,
            5.07386386128601488557,
            8.39985554327604159757,
            5.20982848682361821619,
            9.99999999999999997461e-1,
        ),
    ),
    q=(
        (
            5.10862594750176621635e-2,
            4.98213872951233449420,
            7.58238284132545283818e1,
            3.66779609360150777800e2,
            7.10856304998926107277e2,
            5.97489612400613639965e2,
            2.11688757100572135698e2,
            2.52070205858023719784e1,
        ),
        (
            1.0,
            7.42373277035675149943e1,
            1.05644886038262816351e3,
            4.98641058337653607651e3,
            9.56231892404756170795e3,
            7.99704160447350683650e3,
            2.82619278517639096600e3,
            3.36093607810698293419e2,
        ),
    ),
    j=(
        (
            -8.99971225705559398224e8,
            4.52228297998194034323e11,
            -7.27494245221818276015e13,
            3.68295732863852883286e15,
        ),
        (
            1.0,
            6.20836478118054335476e2,
            2.56987256757748830383e5,
            8.35146791431949253037e7,
            2.21511595479792499675e10,
            4.74914122079991414898e12,
            7.84369607876235854894e14,
            8.95222336184627338078e16,
            5.32278620332680085395e18,
        ),
    ),
    zeros=(14.6819706421238932572, 49.2184563216946036703),
    y=(
        (
            1.26320474790178026440e9,
            -6.47355876379160291031e11,
            1.14509511541823727583e14,
            -8.12770255501325109621e15,
            2.02439475713594898196e17,
            -7.78877196265950026825e17,
        ),
        (
            1.0,
            5.94301592346128195359e2,
            2.35564092943068577943e5,
            7.34811944459721705660e7,
            1.87601316108706159478e10,
            3.88231277496238566008e12,
            6.20557727146953693363e14,
            6.87141087355300489866e16,
            3.97270608116560655612e18,
        ),
    ),
)


@elementwise_in_float64
def i0(xp: Namespace, x: Array) -> Array:
    """The modified Bessel function of the first kind, order 0.

    >>> xp.i0(xp.array([0.0, 1.0]))
    array([1.        , 1.26606588])
    """
    size = xp.abs(x)
    return xp.exp(size) * _scaled_i0(xp, size)


@elementwise_in_float64
def i0e(xp: Namespace, x: Array) -> Array:
    """exp(-abs(x)) i0(x).

    >>> xp.i0e(xp.array([0.0, 1.0]))
    array([1.        , 0.46575961])
    """
    return _scaled_i0(xp, xp.abs(x))


@elementwise_in_float64
def i1(xp: Namespace, x: Array) -> Array:
    """The modified Bessel function of the first kind, order 1.

    >>> xp.i1(xp.array([0.0, -1.0]))
    array([ 0.       , -0.5651591])
    """
    size = xp.abs(x)
    out = xp.exp(size) * _scaled_i1(xp, size)
    return xp.where(x < 0, -out, out)


@elementwise_in_float64
def i1e(xp: Namespace, x: Array) -> Array:
    """exp(-abs(x)) i1(x).

    >>> xp.i1e(xp.array([0.0, -1.0]))
    array([ 0.        , -0.20791042])
    """
    out = _scaled_i1(xp, xp.abs(x))
    return xp.where(x < 0, -out, out)


def _scaled_i0(xp: Namespace, x: Array) -> Array:
    out = xp.empty_like(x)
    fill_region(xp, out, x <= 8, lambda xp, x: chebyshev_series(xp, 0.5 * x - 2, _I0_NEAR), x)
    fill_region(
        xp, out, ~(x <= 8), lambda xp, x: chebyshev_series(xp, 32 / x - 2, _I0_FAR) / xp.sqrt(x), x
    )
    return out


def _scaled_i1(xp: Namespace, x: Array) -> Array:
    out = xp.empty_like(x)
    fill_region(xp, out, x <= 8, lambda xp, x: chebyshev_series(xp, 0.5 * x - 2, _I1_NEAR) * x, x)
    fill_region(
        xp, out, ~(x <= 8), lambda xp, x: chebyshev_series(xp, 32 / x - 2, _I1_FAR) / xp.sqrt(x), x
    )
    return out


@elementwise_in_float64
def bessel_j0(xp: Namespace, x: Array) -> Array:
    """The Bessel function of the first kind, order 0.

    >>> xp.bessel_j0(xp.array([0.0, 1.0]))
    array([1.        , 0.76519769])
    """
    size = xp.abs(x)
    out = xp.empty_like(x)
    fill_region(xp, out, size <= 5, _near_j0, size)
    fill_region(
        xp, out, ~(size <= 5), lambda xp, x: _far(xp, _ORDER_0, x, xp.cos, xp.sin, -1), size
    )
    return out


@elementwise_in_float64
def bessel_j1(xp: Namespace, x: Array) -> Array:
    """The Bessel function of the first kind, order 1.

    >>> xp.bessel_j1(xp.array([0.0, 1.0]))
    array([0.        , 0.44005059])
    """
    size = xp.abs(x)
    out = xp.empty_like(x)
    fill_region(xp, out, size <= 5, _near_j1, size)
    fill_region(
        xp, out, ~(size <= 5), lambda xp, x: _far(xp, _ORDER_1, x, xp.cos, xp.sin, -1), size
    )
    return xp.where(xp.signbit(x), -out, out)


@elementwise_in_float64
def bessel_y0(xp: Namespace, x: Array) -> Array:
    """The Bessel function of the second kind, order 0; -inf at zero, nan below.

    >>> xp.bessel_y0(xp.array([1.0, 0.0]))
    array([0.08825696,       -inf])
    """

    def near(xp: Namespace, x: Array) -> Array:
        return _ratio(_ORDER_0.y, x * x) + _TWO_OVER_PI * xp.log(x) * _near_j0(xp, x)

    return _second_kind(xp, _ORDER_0, near, x)


@elementwise_in_float64
def bessel_y1(xp: Namespace, x: Array) -> Array:
    """The Bessel function of the second kind, order 1; -inf at zero, nan below.

    >>> xp.bessel_y1(xp.array([1.0, 0.0]))
    array([-0.78121282,        -inf])
    """

    def near(xp: Namespace, x: Array) -> Array:
        return x * _ratio(_ORDER_1.y, x * x) + _TWO_OVER_PI * (_near_j1(xp, x) * xp.log(x) - 1 / x)

    return _second_kind(xp, _ORDER_1, near, x)


def _second_kind(xp: Namespace, order: _Order, near: Kernel, x: Array) -> Array:
    out = xp.full_like(x, xp.nan)
    fill_region(xp, out, (x > 0) & (x <= 5), near, x)
    fill_region(xp, out, x > 5, lambda xp, x: _far(xp, order, x, xp.sin, xp.cos, 1), x)
    out[x == 0] = -xp.inf
    return out


def _near_j0(xp: Namespace, x: Array) -> Array:
    square = x * x
    first, second = _ORDER_0.zeros
    return (square - first) * (square - second) * _ratio(_ORDER_0.j, square)


def _near_j1(xp: Namespace, x: Array) -> Array:
    square = x * x
    first, second = _ORDER_1.zeros
    return _ratio(_ORDER_1.j, square) * x * (square - first) * (square - second)


def _far(xp: Namespace, order: _Order, x: Array, main: _Wave, other: _Wave, sign: int) -> Array:
    """sqrt(2 / (pi x)) (P main(x - phase) + sign Q other(x - phase))."""
    ratio = 5 / x
    square = ratio * ratio
    angle = x - order.phase
    value = _ratio(order.p, square) * main(angle)
    value += sign * ratio * _ratio(order.q, square) * other(angle)
    return value * _SQRT_TWO_OVER_PI / xp.sqrt(x)


def _ratio(pair: tuple[tuple[float, ...], tuple[float, ...]], x: Array) -> Array:
    return polynomial(x, pair[0]) / polynomial(x, pair[1])
