"""The parts of a header that do not depend on the network: guards, macros, the public functions."""

from __future__ import annotations

__all__ = ["API", "BEGIN", "BLOCK", "END", "MULTIPLY_ADD", "SORT"]

BEGIN = """\
#if defined({M}_H) && !defined({M}_IS_{short})
#error "{m}: two different headers have this name; export one of them with another name="
#endif
#ifndef {M}_H
#define {M}_H
#define {M}_IS_{short}

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Order is kept bit for bit only if operations keep their order: builds that may change it are refused. */
#if defined(__FAST_MATH__) || defined(_M_FP_FAST) || defined(__ASSOCIATIVE_MATH__) || defined(__USE_FAST_MATH__) \\
    || defined(__RECIPROCAL_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "{m}: the proof needs IEEE arithmetic in the stated order; remove -ffast-math and its parts"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "{m}: sums must be rounded to their own type; compile with SSE2 or newer (-mfpmath=sse), not x87"
#endif
#if FLT_RADIX != 2 || FLT_MANT_DIG != 24 || DBL_MANT_DIG != 53 || (-1 >> 1) != -1
#error "{m}: IEEE 754 floats and arithmetic right shifts are needed"
#endif
/* no array has -1 entries: doubles must be read as doubles, which gcc can be told not to do and defines no macro for */
typedef char {m}_needs_no_fsingle_precision_constant[(int64_t)9007199254740991.0 == INT64_C(9007199254740991) ? 1 : -1];

/* No fused multiply-add but where it is written: a pragma for compilers that know one, intrinsics in device code. */
#if defined(__clang__)
#if __clang_major__ >= 12 && (defined(__x86_64__) || defined(__i386__)) && !defined(__CUDA_ARCH__)
#define {M}_PRECISE /* takes back what flags allowed: reordering, reciprocals, "there is no NaN"; clang has it on x86 */
#pragma float_control(push)
#pragma float_control(precise, on)
#endif
#if __clang_major__ >= 12
#pragma clang fp contract(off) reassociate(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#elif defined(__GNUC__) /* the second option because SLP in gcc 12 fuses in spite of the first */
#if defined(__CUDACC__)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675 /* nvcc does not know these pragmas, but hands them to gcc */
#endif
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off", "no-tree-slp-vectorize")
#endif

#if defined(__CUDACC__)
#if defined(__CUDA_ARCH__) /* arrays become registers once everything is inlined */
#define {M}_FUNCTION static __forceinline__ __host__ __device__
#else /* forced into a caller, host code would take over the caller's contraction */
#define {M}_FUNCTION static inline __host__ __device__
#endif
#define {M}_RESTRICT __restrict__
#ifndef {M}_LANES
#define {M}_LANES 1
#endif
#else
#if defined(__GNUC__) /* a program need not call everything */
#define {M}_FUNCTION static inline __attribute__((unused))
#define {M}_APART static __attribute__((noinline, unused)) /* or clang moves all constants out of the loop of a batch */
#else
#define {M}_FUNCTION static inline
#endif
#if defined(__cplusplus) && defined(_MSC_VER)
#define {M}_RESTRICT __restrict
#elif defined(__cplusplus)
#define {M}_RESTRICT __restrict__
#else
#define {M}_RESTRICT restrict
#endif
#ifndef {M}_LANES
#define {M}_LANES {lanes}
#endif
#endif
#ifndef {M}_APART
#define {M}_APART {M}_FUNCTION
#endif
#ifndef {M}_TABLES /* 0: whole numbers are computed as others are, and no branch depends on the data */
#if defined(__CUDACC__)
#define {M}_TABLES 0
#else
#define {M}_TABLES 1
#endif
#endif
#if defined(__GNUC__) && !defined(__CUDACC__)
#define {M}_ALIGNED __attribute__((aligned(64)))
#define {M}_DIFFER(a, b) __builtin_islessgreater((a), (b)) /* NaN does not */
#else
#define {M}_ALIGNED
#define {M}_DIFFER(a, b) ((a) < (b) || (a) > (b))
#endif

/* Sixteen numbers in a register: shuffles that are known here, and choices among 32 that each lane makes itself. */
#if defined(__GNUC__) && defined(__AVX512F__) && !defined(__CUDACC__) && {M}_LANES == 16
#if !defined(__clang__) && __GNUC__ >= 12 /* clang makes as much of plain loops */
typedef float {m}_floats __attribute__((vector_size(64)));
typedef float {m}_half __attribute__((vector_size(32)));
#define {M}_SHUFFLE __builtin_shufflevector
#endif
#endif
#if defined(__GNUC__) && defined(__AVX512F__) && !defined(__CUDACC__) && {M}_LANES == 16 && {is_short}
typedef {T} {m}_vector __attribute__((vector_size(64)));
typedef int {m}_places __attribute__((vector_size(64)));
#define {M}_EITHER(which, yes, no) (({m}_vector)((({m}_places)(yes) & (which)) | (({m}_places)(no) & ~(which))))
#if !defined(__clang__)
#define {M}_PICK(a, at) __builtin_shuffle((a), (at))
#define {M}_CHOOSE(a, b, at) __builtin_shuffle((a), (b), (at))
#elif __has_builtin({choose}) && __has_builtin({pick})
#define {M}_PICK(a, at) {pick}((a), (at))
#define {M}_CHOOSE(a, b, at) {choose}((a), (at), (b))
#endif
#endif

/* Values compared here are never NaN, and sums that begin with a bias are never -0. */
#define {M}_LESS(a, b) ((a) < (b) ? (a) : (b))
#define {M}_MORE(a, b) ((a) > (b) ? (a) : (b))
#define {M}_CLIP(x, low, high) {M}_LESS({M}_MORE((x), (low)), (high))
{M}_FUNCTION double {m}_clamp(double x, double low, double high) {{ /* NaN becomes low */
    const double above = x > low ? x : low;
    return above < high ? above : high;
}}
#if defined(__CUDA_ARCH__)
#define {M}_AT(table) {m}_device_##table
#define {M}_EACH_LANE _Pragma("unroll") for (l = 0; l < {M}_LANES; l++)
#define {M}_EACH_VECTOR_LANE {M}_EACH_LANE
#define {M}_SEPARATE(w, z, a) __dadd_rn((a), __dmul_rn((w), (z)))
#define {M}_ADD(a, b) __dadd_rn((a), (b))
#define {M}_SMALLER(a, b) {device_min}
#define {M}_LARGER(a, b) {device_max}
#define {M}_MULTIPLY_ADD(w, z, a) {device_multiply_add}
#else
#define {M}_AT(table) {m}_##table
#define {M}_EACH_LANE for (l = 0; l < {M}_LANES; l++)
#if defined(__clang__) /* which would take these loops apart before it sees that they are vectors */
#define {M}_EACH_VECTOR_LANE _Pragma("clang loop unroll(disable)") for (l = 0; l < {M}_LANES; l++)
#else
#define {M}_EACH_VECTOR_LANE {M}_EACH_LANE
#endif
#define {M}_SEPARATE(w, z, a) ((a) + (w) * (z))
#define {M}_ADD(a, b) ((a) + (b))
#define {M}_SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define {M}_LARGER(a, b) ((a) > (b) ? (a) : (b))
#define {M}_MULTIPLY_ADD(w, z, a) {multiply_add}
#endif
#define {M}_ROUND 6755399441055744.0 /* 3 * 2^51: adding it rounds to a whole number, ties to even */
#define {M}_NARROW(x) {narrow}
#define {M}_INVALID {invalid}

#define {M}_INPUTS {n_raw}
#define {M}_OUTPUTS {n_outputs}
typedef {T} {m}_number;
static const char {m}_digest[] = "{digest}";
static const char {m}_certificate[] = "{certificate}";
"""

# host and device: multiply and add with two roundings, or with one
MULTIPLY_ADD = {
    ("float", False): ("((a) + (w) * (z))", "__fadd_rn((a), __fmul_rn((w), (z)))"),
    ("float", True): ("fmaf((w), (z), (a))", "__fmaf_rn((w), (z), (a))"),
    ("double", False): ("((a) + (w) * (z))", "__dadd_rn((a), __dmul_rn((w), (z)))"),
    ("int32_t", False): ("((a) + (w) * (z))", "((a) + (w) * (z))"),
    ("int64_t", False): ("((a) + (w) * (z))", "((a) + (w) * (z))"),
}

SORT = """\
/* sort each group of consecutive units, in every lane, by exchanging neighbours */
{M}_FUNCTION void {m}_sort({T} *a, int n, int group, int lanes) {{
    int g, i, j, l;
    for (g = 0; g < n; g += group)
        for (i = group - 1; i > 0; i--)
            for (j = g; j < g + i; j++)
                for (l = 0; l < lanes; l++) {{
                    const {T} p = a[j * lanes + l], q = a[(j + 1) * lanes + l];
                    a[j * lanes + l] = {M}_SMALLER(p, q);
                    a[(j + 1) * lanes + l] = {M}_LARGER(p, q);
                }}
}}
"""

BLOCK = """\
/* {M}_LANES rows at once, x[row * {n_raw} + column] -> f[row * {n_outputs} + output] */
{M}_APART void {m}_block{suffix}(const {X} *x, {T} *f) {{
    {M}_ALIGNED {G} t[{n_raw} * {M}_LANES];
    {M}_ALIGNED {T} u[{n_model} * {M}_LANES], g[{n_outputs} * {M}_LANES];
    {M}_ALIGNED int bad[{M}_LANES];
    int k, l;
{turn}
    {m}_lane_inputs_{G}(t, u, bad);
    {m}_lanes(u, g);
    {M}_EACH_LANE
        for (k = 0; k < {n_outputs}; k++) f[l * {n_outputs} + k] = bad[l] ? {M}_INVALID : g[k * {M}_LANES + l];
}}
"""

API = """\
/* one row: x[{n_raw}] -> f[{n_outputs}]; invalid inputs give {M}_INVALID */
{M}_FUNCTION void {m}_score{suffix}(const {X} *x, {T} *f) {{
#if {M}_LANES == 1
    {m}_block{suffix}(x, f);
#else
    {G} t[{n_raw}];
    {T} u[{n_model}];
    int bad, k;
    for (k = 0; k < {n_raw}; k++) t[k] = ({G})x[k];
    bad = {m}_inputs_{G}(t, u);
    {m}_row(u, f);
    for (k = 0; k < {n_outputs}; k++) f[k] = bad ? {M}_INVALID : f[k];
#endif
}}

/* many rows: x[rows][{n_raw}] -> f[rows][{n_outputs}]; the bits of {m}_score{suffix}, row by row */
{M}_FUNCTION void {m}_batch{suffix}(const {X} *x, size_t rows, {T} *f) {{
    size_t r, whole = rows - rows % {M}_LANES;
    for (r = 0; r < whole; r += {M}_LANES) {m}_block{suffix}(x + r * {n_raw}, f + r * {n_outputs});
    for (r = whole; r < rows; r++) {m}_score{suffix}(x + r * {n_raw}, f + r * {n_outputs});
}}
"""

END = """\
#if defined(__clang__)
#ifdef {M}_PRECISE
#pragma float_control(pop)
#else
#pragma STDC FP_CONTRACT DEFAULT
#endif
#elif defined(_MSC_VER)
#pragma fp_contract(on)
#elif defined(__GNUC__)
#pragma GCC pop_options
#if defined(__CUDACC__)
#pragma nv_diagnostic pop
#endif
#endif
#endif /* {M}_H */
"""
