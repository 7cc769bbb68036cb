// Launches a kernel twice, and times both with CUDA events: on the device.
//
//     nvcc -g -o events events.cu && preheat run -- ./events

#include <cstdio>

__global__ void add(int count, const float *x, float *y) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) {
        y[at] += x[at];
    }
}

int main() {
    const int count = 1 << 24;
    float *x, *y;
    if (cudaMalloc(&x, count * sizeof(float)) != cudaSuccess ||
        cudaMalloc(&y, count * sizeof(float)) != cudaSuccess) {
        std::fprintf(stderr, "no device memory\n");
        return 1;
    }
    cudaMemset(x, 0, count * sizeof(float));
    cudaMemset(y, 0, count * sizeof(float));
    cudaEvent_t start, end;
    cudaEventCreate(&start);
    cudaEventCreate(&end);

    for (int launch = 1; launch <= 2; launch++) {
        cudaEventRecord(start);
        add<<<(count + 255) / 256, 256>>>(count, x, y);
        cudaEventRecord(end);
        cudaEventSynchronize(end);
        float milliseconds = 0;
        if (cudaEventElapsedTime(&milliseconds, start, end) != cudaSuccess) {
            std::fprintf(stderr, "the kernel failed\n");
            return 1;
        }
        std::printf("launch %d: %.7f s\n", launch, milliseconds / 1e3);
    }
    cudaFree(x);
    cudaFree(y);
    return 0;
}
