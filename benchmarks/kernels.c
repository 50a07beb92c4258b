/* What someone who knows C would write by hand: the functions of the compiled section and their
   derivatives, in loops that the compiler vectorises. See written_in_c.py. */

#include <math.h>

#define W 8 /* observations, or elements, at a time */

/* The Jacobian of a bundle-adjustment residual in camera (11), point (3) and weight (1).
   Observations come in blocks of eight: in[block][17][8], out[block][30][8]. */
static inline void block(const double in[restrict 17][W], double out[restrict 30][W])
{
    double angle[W], cosine[W], sine[W]; /* in loops apart: sincos would not be vectorised */
#pragma omp simd simdlen(W)
    for (int j = 0; j < W; j++)
        angle[j] = sqrt(in[0][j] * in[0][j] + in[1][j] * in[1][j] + in[2][j] * in[2][j]);
#pragma omp simd simdlen(W)
    for (int j = 0; j < W; j++)
        cosine[j] = cos(angle[j]);
#pragma omp simd simdlen(W)
    for (int j = 0; j < W; j++)
        sine[j] = sin(angle[j]);
#pragma omp simd simdlen(W)
    for (int j = 0; j < W; j++) {
        double r0 = in[0][j], r1 = in[1][j], r2 = in[2][j];
        double x0 = in[11][j] - in[3][j], x1 = in[12][j] - in[4][j], x2 = in[13][j] - in[5][j];
        double focus = in[6][j], d1 = in[9][j], d2 = in[10][j], weight = in[14][j];
        double back = 1 / angle[j], c = cosine[j], s = sine[j], v = 1 - c;
        double k0 = r0 * back, k1 = r1 * back, k2 = r2 * back;
        double kx = k0 * x0 + k1 * x1 + k2 * x2;
        double n0 = k1 * x2 - k2 * x1, n1 = k2 * x0 - k0 * x2, n2 = k0 * x1 - k1 * x0;
        double y0 = x0 * c + n0 * s + k0 * kx * v;
        double y1 = x1 * c + n1 * s + k1 * kx * v;
        double y2 = x2 * c + n2 * s + k2 * kx * v;
        double t0 = n0 * c - x0 * s + k0 * kx * s; /* how the turned point moves with the angle */
        double t1 = n1 * c - x1 * s + k1 * kx * s;
        double t2 = n2 * c - x2 * s + k2 * kx * s;
        double z = 1 / y2, p[2] = {y0 * z, y1 * z};
        double rr = p[0] * p[0] + p[1] * p[1];
        double bend = 1 + rr * (d1 + d2 * rr), more = 2 * (d1 + 2 * d2 * rr);
        double scale = weight * focus, scale_z = scale * z;
        for (int a = 0; a < 2; a++) {
            double m0 = p[a] * more * p[0] + (a == 0 ? bend : 0);
            double m1 = p[a] * more * p[1] + (a == 1 ? bend : 0);
            double g0 = scale_z * m0, g1 = scale_z * m1, g2 = -(g0 * p[0] + g1 * p[1]);
            double gk = g0 * k0 + g1 * k1 + g2 * k2;
            /* back through the rotation: its transpose */
            double u0 = c * g0 - s * (k1 * g2 - k2 * g1) + v * k0 * gk;
            double u1 = c * g1 - s * (k2 * g0 - k0 * g2) + v * k1 * gk;
            double u2 = c * g2 - s * (k0 * g1 - k1 * g0) + v * k2 * gk;
            /* in the axis, and then in the rotation vector */
            double q0 = s * (x1 * g2 - x2 * g1) + v * (g0 * kx + gk * x0);
            double q1 = s * (x2 * g0 - x0 * g2) + v * (g1 * kx + gk * x1);
            double q2 = s * (x0 * g1 - x1 * g0) + v * (g2 * kx + gk * x2);
            double qk = (q0 * k0 + q1 * k1 + q2 * k2) * back;
            double along = g0 * t0 + g1 * t1 + g2 * t2 - qk;
            double(*row)[W] = out + 15 * a;
            row[0][j] = along * k0 + q0 * back;
            row[1][j] = along * k1 + q1 * back;
            row[2][j] = along * k2 + q2 * back;
            row[3][j] = -u0;
            row[4][j] = -u1;
            row[5][j] = -u2;
            row[6][j] = weight * p[a] * bend;
            row[7][j] = a == 0 ? weight : 0;
            row[8][j] = a == 1 ? weight : 0;
            row[9][j] = scale * p[a] * rr;
            row[10][j] = scale * p[a] * rr * rr;
            row[11][j] = u0;
            row[12][j] = u1;
            row[13][j] = u2;
            row[14][j] = focus * p[a] * bend + in[7 + a][j] - in[15 + a][j];
        }
    }
}

/* Arrays laid out for vectors. */
void bundle_blocks(long blocks, const double *in, double *out)
{
    for (long b = 0; b < blocks; b++)
        block((const double(*)[W])(in + b * 17 * W), (double(*)[W])(out + b * 30 * W));
}

/* Arrays as NumPy has them, row after row: x[n][15], feature[n][2], out[n][30]; n is 8 blocks. */
void bundle_rows(long blocks, const double *restrict x, const double *restrict feature,
                 double *restrict out)
{
    double in[17][W] __attribute__((aligned(64))), results[30][W] __attribute__((aligned(64)));
    for (long b = 0; b < blocks; b++, x += 15 * W, feature += 2 * W, out += 30 * W) {
        for (int i = 0; i < 15; i++)
#pragma omp simd simdlen(W)
            for (int j = 0; j < W; j++)
                in[i][j] = x[j * 15 + i];
        for (int i = 0; i < 2; i++)
#pragma omp simd simdlen(W)
            for (int j = 0; j < W; j++)
                in[15 + i][j] = feature[j * 2 + i];
        block((const double(*)[W])in, results);
        for (int j = 0; j < W; j++)
            for (int i = 0; i < 30; i++)
                out[j * 30 + i] = results[i][j];
    }
}

/* log(sum(exp(x))): value and gradient. */
double logsumexp(long n, const double *restrict x, double *restrict gradient)
{
    double most = -INFINITY, sum = 0;
#pragma omp simd reduction(max : most)
    for (long i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
#pragma omp simd reduction(+ : sum)
    for (long i = 0; i < n; i++) {
        gradient[i] = exp(x[i] - most);
        sum += gradient[i];
    }
    double back = 1 / sum;
#pragma omp simd
    for (long i = 0; i < n; i++)
        gradient[i] *= back;
    return most + log(sum);
}

/* sum(sin(x) exp(-x^2) + log(1 + x^2)): value and gradient. */
double elementwise(long n, const double *restrict x, double *restrict gradient)
{
    enum { PART = 256 }; /* elements: what a loop leaves for the next one stays in the cache */
    double sum = 0, cosine[PART];
    for (long start = 0; start < n; start += PART) {
        long stop = start + PART < n ? start + PART : n;
#pragma omp simd
        for (long i = start; i < stop; i++)
            cosine[i - start] = cos(x[i]);
#pragma omp simd reduction(+ : sum)
        for (long i = start; i < stop; i++) {
            double square = x[i] * x[i], bell = exp(-square), s = sin(x[i]);
            sum += s * bell + log(1 + square);
            gradient[i] = bell * (cosine[i - start] - 2 * x[i] * s) + 2 * x[i] / (1 + square);
        }
    }
    return sum;
}

/* sum(tanh(A x + b)^2) / 2: value and gradient in x; work has n numbers. */
double layer(long n, const double *restrict a, const double *restrict b, const double *restrict x,
             double *restrict work, double *restrict gradient)
{
    double sum = 0;
    for (long i = 0; i < n; i++) {
        double dot = b[i];
#pragma omp simd reduction(+ : dot)
        for (long j = 0; j < n; j++)
            dot += a[i * n + j] * x[j];
        work[i] = dot;
    }
#pragma omp simd reduction(+ : sum)
    for (long i = 0; i < n; i++) {
        double t = tanh(work[i]);
        sum += t * t;
        work[i] = t * (1 - t * t);
        gradient[i] = 0;
    }
    for (long i = 0; i < n; i++)
#pragma omp simd
        for (long j = 0; j < n; j++)
            gradient[j] += a[i * n + j] * work[i];
    return sum / 2;
}
