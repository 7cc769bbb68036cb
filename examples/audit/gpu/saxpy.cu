#include <chrono>
#include <cstdio>
#include <vector>
__global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
int main() {
    const int n = 1 << 22;
    std::vector<float> host(n, 1.0f);
    for (int round = 0; round < 2; round++) {
        auto began = std::chrono::steady_clock::now();
        float *x, *y;
        cudaMalloc(&x, n * 4); cudaMalloc(&y, n * 4);
        cudaMemcpy(x, host.data(), n * 4, cudaMemcpyHostToDevice);
        cudaMemcpy(y, host.data(), n * 4, cudaMemcpyHostToDevice);
        saxpy<<<(n + 255) / 256, 256>>>(n, 2.0f, x, y);
        cudaMemcpy(host.data(), y, n * 4, cudaMemcpyDeviceToHost);
        cudaFree(x); cudaFree(y);
        std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        printf("round %d: %.4f s\n", round, took.count());
    }
}
