// Launches a kernel twice, and times both launches.
//
//     nvcc -g -o launch launch.cu && preheat run -- ./launch

#include <chrono>
#include <cstdio>

__global__ void add(int count, const float *x, float *y) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) {
        y[at] += x[at];
    }
}

int main() {
    const int count = 1 << 20;
    float *x, *y;
    if (cudaMalloc(&x, count * sizeof(float)) != cudaSuccess ||
        cudaMalloc(&y, count * sizeof(float)) != cudaSuccess) {
        std::fprintf(stderr, "no device memory\n");
        return 1;
    }
    cudaMemset(x, 0, count * sizeof(float));
    cudaMemset(y, 0, count * sizeof(float));

    for (int launch = 1; launch <= 2; launch++) {
        auto start = std::chrono::high_resolution_clock::now();
        add<<<(count + 255) / 256, 256>>>(count, x, y);
        auto end = std::chrono::high_resolution_clock::now();
        std::chrono::duration<double> seconds = end - start;
        std::printf("launch %d: %.7f s\n", launch, seconds.count());
    }

    if (cudaDeviceSynchronize() != cudaSuccess) {
        std::fprintf(stderr, "the kernel failed\n");
        return 1;
    }
    cudaFree(x);
    cudaFree(y);
    return 0;
}
