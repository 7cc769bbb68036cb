// The kernels of every experiment, once for all devices.
//
// This is the part of C that CUDA C, OpenCL C and the cpu device's own compiler
// agree on: int and float scalars, float pointers, for, if, assignment and
// arithmetic. KERNEL, GLOBAL and GLOBAL_ID are defined by a prelude for each.
// One thread computes one element; threads beyond the end do nothing.

// y = value
KERNEL void fill(GLOBAL float *y, float value, int n) {
    int i = GLOBAL_ID;
    if (i < n) {
        y[i] = value;
    }
}

// y = a x + y
KERNEL void saxpy(GLOBAL float *y, GLOBAL const float *x, float a, int n) {
    int i = GLOBAL_ID;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

// Arithmetic for as long as rounds says, so that a launch outlasts its own cost.
KERNEL void busy(GLOBAL float *y, int rounds, int n) {
    int i = GLOBAL_ID;
    if (i < n) {
        float v = y[i];
        for (int r = 0; r < rounds; r = r + 1) {
            v = v * 0.999f + 0.001f;
        }
        y[i] = v;
    }
}

// y[b][o] = sum_i x[b][i] w[o][i] + bias[o]
KERNEL void linear(GLOBAL float *y, GLOBAL const float *x, GLOBAL const float *w,
                   GLOBAL const float *bias, int batch, int inputs, int outputs) {
    int i = GLOBAL_ID;
    if (i < batch * outputs) {
        int row = i / outputs;
        int column = i - row * outputs;
        float sum = bias[column];
        for (int k = 0; k < inputs; k = k + 1) {
            sum = sum + x[row * inputs + k] * w[column * inputs + k];
        }
        y[i] = sum;
    }
}

// gx[b][i] = sum_o gy[b][o] w[o][i]
KERNEL void linear_grad_input(GLOBAL float *gx, GLOBAL const float *gy, GLOBAL const float *w,
                              int batch, int inputs, int outputs) {
    int i = GLOBAL_ID;
    if (i < batch * inputs) {
        int row = i / inputs;
        int column = i - row * inputs;
        float sum = 0.0f;
        for (int k = 0; k < outputs; k = k + 1) {
            sum = sum + gy[row * outputs + k] * w[k * inputs + column];
        }
        gx[i] = sum;
    }
}

// gw[o][i] = sum_b gy[b][o] x[b][i]
KERNEL void linear_grad_weight(GLOBAL float *gw, GLOBAL const float *gy, GLOBAL const float *x,
                               int batch, int inputs, int outputs) {
    int i = GLOBAL_ID;
    if (i < outputs * inputs) {
        int row = i / inputs;
        int column = i - row * inputs;
        float sum = 0.0f;
        for (int b = 0; b < batch; b = b + 1) {
            sum = sum + gy[b * outputs + row] * x[b * inputs + column];
        }
        gw[i] = sum;
    }
}

// gb[o] = sum_b gy[b][o]
KERNEL void linear_grad_bias(GLOBAL float *gb, GLOBAL const float *gy, int batch, int outputs) {
    int i = GLOBAL_ID;
    if (i < outputs) {
        float sum = 0.0f;
        for (int b = 0; b < batch; b = b + 1) {
            sum = sum + gy[b * outputs + i];
        }
        gb[i] = sum;
    }
}

// y = max(x, 0)
KERNEL void relu(GLOBAL float *y, GLOBAL const float *x, int n) {
    int i = GLOBAL_ID;
    if (i < n) {
        float v = x[i];
        if (v < 0.0f) {
            v = 0.0f;
        }
        y[i] = v;
    }
}

// gx = gy where x > 0, else 0
KERNEL void relu_grad(GLOBAL float *gx, GLOBAL const float *gy, GLOBAL const float *x, int n) {
    int i = GLOBAL_ID;
    if (i < n) {
        float v = 0.0f;
        if (x[i] > 0.0f) {
            v = gy[i];
        }
        gx[i] = v;
    }
}

// loss[0] = mean(y^2): the squared error against zeros, summed by one thread
KERNEL void mse(GLOBAL float *loss, GLOBAL const float *y, int n) {
    int i = GLOBAL_ID;
    if (i < 1) {
        float sum = 0.0f;
        for (int k = 0; k < n; k = k + 1) {
            sum = sum + y[k] * y[k];
        }
        loss[0] = sum / n;
    }
}

// gy = 2 y / n
KERNEL void mse_grad(GLOBAL float *gy, GLOBAL const float *y, int n) {
    int i = GLOBAL_ID;
    if (i < n) {
        gy[i] = 2.0f * y[i] / n;
    }
}

// p = p - rate g
KERNEL void sgd(GLOBAL float *p, GLOBAL const float *g, float rate, int n) {
    int i = GLOBAL_ID;
    if (i < n) {
        p[i] = p[i] - rate * g[i];
    }
}

// A convolution without padding: y[b][o][r][c] over a square input of width size
// and a square filter of width taps.
KERNEL void conv2d(GLOBAL float *y, GLOBAL const float *x, GLOBAL const float *w,
                   GLOBAL const float *bias, int batch, int inputs, int outputs, int size,
                   int taps) {
    int i = GLOBAL_ID;
    int width = size - taps + 1;
    if (i < batch * outputs * width * width) {
        int column = i % width;
        int row = i / width % width;
        int output = i / (width * width) % outputs;
        int b = i / (width * width * outputs);
        float sum = bias[output];
        for (int k = 0; k < inputs; k = k + 1) {
            for (int r = 0; r < taps; r = r + 1) {
                for (int c = 0; c < taps; c = c + 1) {
                    sum = sum + x[((b * inputs + k) * size + row + r) * size + column + c]
                              * w[((output * inputs + k) * taps + r) * taps + c];
                }
            }
        }
        y[i] = sum;
    }
}

// y[i] = mean of the area values that follow x[i * area]
KERNEL void mean_pool(GLOBAL float *y, GLOBAL const float *x, int area, int n) {
    int i = GLOBAL_ID;
    if (i < n) {
        float sum = 0.0f;
        for (int k = 0; k < area; k = k + 1) {
            sum = sum + x[i * area + k];
        }
        y[i] = sum / area;
    }
}
