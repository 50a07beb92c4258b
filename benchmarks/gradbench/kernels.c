/* Gradients of some problems, written by hand: what a compiler makes of plain loops. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

void lse(const double *x, double *out, long n) {
    double highest = x[0], sum = 0;
    for (long i = 1; i < n; i++) highest = x[i] > highest ? x[i] : highest;
    for (long i = 0; i < n; i++) sum += out[i] = exp(x[i] - highest);
    for (long i = 0; i < n; i++) out[i] /= sum;
}

/* The powers of t by running products, point after point. */
void llsq(const double *x, double *out, long m, long n) {
    memset(out, 0, m * sizeof *out);
    for (long i = 0; i < n; i++) {
        double t = -1 + 2.0 * i / (n - 1), y = 0;
        for (long j = m - 1; j >= 0; j--) y = y * t + x[j];
        double wrong = y - ((t > 0) - (t < 0)), power = wrong;
        for (long j = 0; j < m; j++, power *= t) out[j] += power;
    }
}

/* Newton's direction: a centroid less the mean of its points. */
void kmeans(const double *centroids, const double *points, double *out, long k, long n, long d) {
    long *count = calloc(k, sizeof *count);
    memset(out, 0, k * d * sizeof *out);
    for (long i = 0; i < n; i++) {
        const double *p = points + i * d;
        double best = INFINITY;
        long nearest = 0;
        for (long j = 0; j < k; j++) {
            double square = 0;
            for (long l = 0; l < d; l++) square += (centroids[j * d + l] - p[l]) * (centroids[j * d + l] - p[l]);
            if (square < best) best = square, nearest = j;
        }
        count[nearest]++;
        for (long l = 0; l < d; l++) out[nearest * d + l] += p[l];
    }
    for (long j = 0; j < k; j++)
        for (long l = 0; l < d; l++) out[j * d + l] = centroids[j * d + l] - out[j * d + l] / count[j];
    free(count);
}

/* Four stages are kept for each step, then walked back. */
void ode(const double *x, double *out, long n, long steps) {
    double h = 2.0 / steps, *kept = malloc(4 * n * steps * sizeof *kept);
    double *y = calloc(n, sizeof *y), *sum = malloc(n * sizeof *sum), *k = malloc(n * sizeof *k);
    const double reach[4] = {0, h / 2, h / 2, h}, weight[4] = {h / 6, h / 3, h / 3, h / 6};
    for (long s = 0; s < steps; s++) {
        memset(sum, 0, n * sizeof *sum);
        for (int stage = 0; stage < 4; stage++) {
            double *at = kept + (4 * s + stage) * n;
            for (long i = 0; i < n; i++) at[i] = stage ? y[i] + reach[stage] * k[i] : y[i];
            k[0] = x[0];
            for (long i = 1; i < n; i++) k[i] = x[i] * at[i - 1];
            for (long i = 0; i < n; i++) sum[i] += weight[stage] * k[i];
        }
        for (long i = 0; i < n; i++) y[i] += sum[i];
    }
    double *bar = calloc(n, sizeof *bar), *of_stage = calloc(n + 1, sizeof *of_stage);
    memset(out, 0, n * sizeof *out);
    bar[n - 1] = 1;
    for (long s = steps - 1; s >= 0; s--) {
        memset(sum, 0, n * sizeof *sum); /* what reaches y besides bar itself */
        memset(of_stage, 0, (n + 1) * sizeof *of_stage);
        for (int stage = 3; stage >= 0; stage--) {
            const double *at = kept + (4 * s + stage) * n;
            for (long i = 0; i < n; i++) k[i] = weight[stage] * bar[i] + (stage < 3 ? reach[stage + 1] * of_stage[i] : 0);
            out[0] += k[0];
            for (long i = 1; i < n; i++) out[i] += k[i] * at[i - 1];
            for (long i = 0; i + 1 < n; i++) of_stage[i] = k[i + 1] * x[i + 1];
            of_stage[n - 1] = 0;
            for (long i = 0; i < n; i++) sum[i] += of_stage[i];
        }
        for (long i = 0; i < n; i++) bar[i] += sum[i];
    }
    free(kept), free(y), free(sum), free(k), free(bar), free(of_stage);
}
