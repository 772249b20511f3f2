// Candidates per second of an exported header inside a kernel: 16-byte inputs in device memory -> one output each.
// One build per variant (see candidates.py): -DHEADER="lhcb_float32_fused.h" -DNUMBER=... -DMODEL_LANES=...
// Outputs of the device are compared bit for bit with those of the host. Prints one JSON object.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
#include HEADER

#ifndef THREADS
#define THREADS 256
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 4
#endif
#ifndef INTEGER_INPUTS
#define INTEGER_INPUTS 0
#endif

static_assert(MODEL_INPUTS == 4 && MODEL_OUTPUTS == 1, "the LHCb network: four inputs, one output");
#if INTEGER_INPUTS
typedef int32_t input_number;  // quantised before: the network's own integers
typedef int4 input_row;
#else
typedef float input_number;
typedef float4 input_row;
#endif

static void check(cudaError_t status) {
    if (status != cudaSuccess) {
        std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
        std::exit(1);
    }
}

// MODEL_LANES rows: row-major inputs -> one output each
static __forceinline__ __host__ __device__ void rows(const input_number *x, model_number *f) {
#if INTEGER_INPUTS
    model_number u[4 * MODEL_LANES];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int l = 0; l < MODEL_LANES; l++)
        for (int j = 0; j < 4; j++) u[j * MODEL_LANES + l] = x[4 * l + j];
    model_lanes(u, f);
#else
    model_block_float(x, f);
#endif
}

// Neighbouring threads read neighbouring rows; each thread has MODEL_LANES of them under way for overlap.
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    score(const input_row *__restrict__ x, model_number *__restrict__ f, long tiles) {
    for (long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const long first = tile * (THREADS * MODEL_LANES) + threadIdx.x;
        input_number v[4 * MODEL_LANES];
        model_number out[MODEL_LANES];
#pragma unroll
        for (int l = 0; l < MODEL_LANES; l++) {
            const input_row row = x[first + l * THREADS];
            v[4 * l] = row.x;
            v[4 * l + 1] = row.y;
            v[4 * l + 2] = row.z;
            v[4 * l + 3] = row.w;
        }
        rows(v, out);
#pragma unroll
        for (int l = 0; l < MODEL_LANES; l++) f[first + l * THREADS] = out[l];
    }
}

// What moving the data alone costs.
__global__ void __launch_bounds__(THREADS) copy(const input_row *__restrict__ x, model_number *__restrict__ f, long n) {
    const long stride = (long)gridDim.x * THREADS;
    for (long i = (long)blockIdx.x * THREADS + threadIdx.x; i < n; i += stride) {
        const input_row row = x[i];
        f[i] = (model_number)(row.x + row.y + row.z + row.w);
    }
}

static input_number random_input(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    const double unit = (double)(*state >> 11) * 0x1p-53;
#if INTEGER_INPUTS
    return (input_number)((unit - 0.5) * 2.0 * INPUT_LIMIT);
#else
    return (input_number)((unit - 0.5) * 16.0);
#endif
}

template <typename Launch> static double seconds(Launch launch, int repeats) {
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    launch();
    double best = 1e30;
    for (int r = 0; r < repeats; r++) {
        float ms = 0;
        check(cudaEventRecord(begin));
        launch();
        check(cudaEventRecord(end));
        check(cudaEventSynchronize(end));
        check(cudaEventElapsedTime(&ms, begin, end));
        best = ms * 1e-3 < best ? ms * 1e-3 : best;
    }
    return best;
}

int main() {
    const long tile = THREADS * MODEL_LANES, tiles = (1L << 28) / tile, n = tiles * tile, sample = 1L << 20;
    input_row *x;
    model_number *f;
    check(cudaMalloc(&x, n * sizeof *x));
    check(cudaMalloc(&f, n * sizeof *f));
    std::vector<input_number> host(4 * sample);
    uint64_t state = 1;
    for (auto &v : host) v = random_input(&state);
#if !INTEGER_INPUTS
    const float extreme[] = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 1e-45f, -1e-40f, 3.4e38f, -3.4e38f, 1.0f};
    for (long i = 0; i < 40000; i++) host[7 * i] = extreme[i % 10];
#endif
    for (long at = 0; at < n; at += sample) {
        const long count = n - at < sample ? n - at : sample;
        check(cudaMemcpy(x + at, host.data(), count * sizeof *x, cudaMemcpyHostToDevice));
    }
    cudaDeviceProp device;
    check(cudaGetDeviceProperties(&device, 0));
    int per_sm = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, score, THREADS, 0));
    cudaFuncAttributes facts;
    check(cudaFuncGetAttributes(&facts, score));
    const int grid = device.multiProcessorCount * per_sm;
    const double took = seconds([&] { score<<<grid, THREADS>>>(x, f, tiles); }, 15);
    check(cudaGetLastError());
    std::vector<model_number> found(sample), expected(sample);
    check(cudaMemcpy(found.data(), f, sample * sizeof found[0], cudaMemcpyDeviceToHost));
    for (long i = 0; i < sample; i += MODEL_LANES) rows(&host[4 * i], &expected[i]);
    long different = 0;
    for (long i = 0; i < sample; i++) {
        const bool both_nan = found[i] != found[i] && expected[i] != expected[i];
        different += !both_nan && std::memcmp(&found[i], &expected[i], sizeof found[i]) != 0;
    }
    const double moved = seconds([&] { copy<<<device.multiProcessorCount * 8, THREADS>>>(x, f, n); }, 5);
    check(cudaGetLastError());
    std::printf("{\"device\": \"%s\", \"variant\": \"%s\", \"lanes\": %d, \"threads\": %d, \"blocks_per_sm\": %d, ", device.name,
                VARIANT, MODEL_LANES, THREADS, per_sm);
    std::printf("\"registers\": %d, \"local_bytes\": %zu, \"candidates\": %ld, \"seconds\": %.6g, ", facts.numRegs,
                facts.localSizeBytes, n, took);
    std::printf("\"candidates_per_second\": %.5g, \"copy_per_second\": %.5g, ", n / took, n / moved);
    std::printf("\"compared\": %ld, \"different\": %ld, \"digest\": \"%s\"}\n", sample, different, model_digest);
    return different != 0;
}
