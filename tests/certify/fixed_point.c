/* The fixed-point network in C, from its flat arrays: compiled with every liberty a C compiler may take by default. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int64_t node(const double *knots, int64_t n, const double (*piece)[5], double x) {
    if (x < knots[0]) x = knots[0];
    if (x > knots[n - 1]) x = knots[n - 1];
    int64_t i = 0;
    while (i < n && knots[i] <= x) i++;
    const double *p = piece[i];
    double X = p[1] + rint((x - p[0]) * p[2]);
    return (int64_t)fmin(fmax(X, p[3]), p[4]);
}

/* raw: (rows, n_raw), categories as codes; X: (rows, d) */
void quantise(const double *raw, int64_t rows, int64_t n_raw, int64_t d, const int64_t (*columns)[6],
              const int64_t (*maps)[3], const double *knots, const double (*pieces)[5], const int64_t *table, int64_t *X) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < n_raw; c++) {
            const int64_t *at = columns[c];
            int64_t *out = X + r * d + at[1];
            double x = raw[r * n_raw + c];
            if (at[0] == 1) memcpy(out, table + at[5] + (int64_t)x * at[2], at[2] * sizeof *out);
            else if (x != x) memcpy(out, table + at[5], at[2] * sizeof *out);
            else {
                for (int64_t m = 0; m < at[3]; m++) {
                    const int64_t *map = maps[at[4] + m];
                    out[m] = node(knots + map[0], map[1], pieces + map[2], x);
                }
                if (at[2] > at[3]) out[at[2] - 1] = table[at[5] + at[2]];
            }
        }
}

static int order(const void *a, const void *b) {
    NUMBER x = *(const NUMBER *)a, y = *(const NUMBER *)b;
    return (x > y) - (x < y);
}

static NUMBER down(NUMBER a, int64_t shift) { return SHIFT; }

/* f: (rows, n_outputs), in NUMBER, one of int64_t, int32_t, double, float */
void evaluate(const int64_t *X, int64_t rows, int64_t d, const int64_t *params, const int64_t (*plan)[5],
              const int64_t (*spans)[4], int64_t n_trunks, const int64_t *outputs, const int64_t *shares,
              int64_t shift, int64_t limit, int64_t n_outputs, int64_t *f) {
    NUMBER z[4096], a[4096], total[64];
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t k = 0; k < n_outputs; k++) total[k] = (NUMBER)((int64_t)1 << (shift - 1));
        for (int64_t t = 0; t < n_trunks; t++) {
            const int64_t *span = spans[t];
            for (int64_t j = 0; j < d; j++) z[j] = (NUMBER)X[r * d + j];
            for (int64_t l = span[0]; l < span[1]; l++) {
                const int64_t *p = plan[l];
                for (int64_t k = 0; k < p[0]; k++) {
                    a[k] = (NUMBER)params[p[3] + k];
                    for (int64_t j = p[1] - 1; j >= 0; j--) a[k] += (NUMBER)params[p[2] + k * p[1] + j] * z[j];
                    a[k] = down(a[k], shift);
                    if (limit && l + 1 < span[1]) a[k] = a[k] > limit ? limit : a[k] < -limit ? -limit : a[k];
                }
                for (int64_t g = 0; g < p[0] && p[4] > 1; g += p[4]) qsort(a + g, p[4], sizeof *a, order);
                memcpy(z, a, p[0] * sizeof *z);
            }
            int64_t n = plan[span[1] - 1][0];
            for (int64_t k = 0; k < n; k++) {
                if (span[3] >= 0)
                    for (int64_t j = 0; j < d; j++) z[k] += (NUMBER)params[span[3] + k * d + j] * (NUMBER)X[r * d + j];
                total[outputs[span[2] + k]] += (NUMBER)shares[t] * z[k];
            }
        }
        for (int64_t k = 0; k < n_outputs; k++) f[r * n_outputs + k] = (int64_t)down(total[k], shift);
    }
}
