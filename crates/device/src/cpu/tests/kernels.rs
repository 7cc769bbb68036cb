//! Compares each kernel with the same computation in Rust.
//!
//! Both sides compute in the same order and precision, so results are bit-identical. Every
//! kernel is launched with more threads than it has elements, and every target is longer
//! than needed, so that writes past the end are detected.

use super::{Bench, noise};
use crate::Argument::{Buffer, F32, I32};
use crate::KernelName;

/// Number of surplus elements in every target, and of surplus threads.
const EXTRA: usize = 300;

/// Checks that `found` starts with `expected` and that the rest is unchanged.
fn check(found: &[f32], expected: &[f32], before: &[f32], what: &str) {
    assert_eq!(&found[..expected.len()], expected, "{what}");
    assert_eq!(
        &found[expected.len()..],
        &before[expected.len()..],
        "{what}: wrote past the end"
    );
}

/// Runs `test` with one worker and with several, since the chunks differ.
fn on_benches(test: impl Fn(&Bench)) {
    for workers in [1, 3] {
        test(&Bench::new(workers));
    }
}

#[test]
fn elementwise() {
    let n = 1500;
    let (x, y) = (noise(1, n), noise(2, n + EXTRA));
    on_benches(|bench| {
        let xs = bench.buffer(&x);
        let ys = bench.buffer(&y);
        let run = |kernel, arguments: &[_], expected: Vec<f32>| {
            bench.fill(&*ys, &y);
            bench.launch(kernel, n + EXTRA, arguments);
            check(&bench.values(&*ys), &expected, &y, kernel.as_str());
        };
        let map = |f: &dyn Fn(f32, f32) -> f32| -> Vec<f32> {
            x.iter().zip(&y).map(|(&x, &y)| f(x, y)).collect()
        };
        let count = I32(n as i32);
        run(
            KernelName::Fill,
            &[Buffer(&*ys), F32(2.5), count],
            vec![2.5; n],
        );
        run(
            KernelName::Saxpy,
            &[Buffer(&*ys), Buffer(&*xs), F32(-0.7), count],
            map(&|x, y| -0.7 * x + y),
        );
        run(
            KernelName::Busy,
            &[Buffer(&*ys), I32(17), count],
            map(&|_, y| (0..17).fold(y, |v, _| v * 0.999 + 0.001)),
        );
        run(
            KernelName::Relu,
            &[Buffer(&*ys), Buffer(&*xs), count],
            map(&|x, _| if x < 0.0 { 0.0 } else { x }),
        );
        let gradient = bench.buffer(&noise(3, n));
        let gradient_values = noise(3, n);
        run(
            KernelName::ReluGrad,
            &[Buffer(&*ys), Buffer(&*gradient), Buffer(&*xs), count],
            x.iter()
                .zip(&gradient_values)
                .map(|(&x, &g)| if x > 0.0 { g } else { 0.0 })
                .collect(),
        );
        run(
            KernelName::MseGrad,
            &[Buffer(&*ys), Buffer(&*xs), count],
            map(&|x, _| 2.0 * x / n as f32),
        );
        run(
            KernelName::Sgd,
            &[Buffer(&*ys), Buffer(&*xs), F32(0.01), count],
            map(&|x, y| y - 0.01 * x),
        );
    });
}

#[test]
fn reductions() {
    let (area, n) = (7, 400);
    let (x, y) = (noise(1, area * n), noise(2, n + EXTRA));
    on_benches(|bench| {
        let xs = bench.buffer(&x);
        let ys = bench.buffer(&y);
        let arguments = [Buffer(&*ys), Buffer(&*xs), I32((area * n) as i32)];
        bench.launch(KernelName::Mse, EXTRA, &arguments);
        let sum = x.iter().fold(0.0, |sum, x| sum + x * x);
        let mean = [sum / (area * n) as f32];
        check(&bench.values(&*ys), &mean, &y, "mse");

        bench.fill(&*ys, &y);
        let sizes = [I32(area as i32), I32(n as i32)];
        let arguments = [&[Buffer(&*ys), Buffer(&*xs)][..], &sizes].concat();
        bench.launch(KernelName::MeanPool, n + EXTRA, &arguments);
        let means: Vec<f32> = x
            .chunks(area)
            .map(|values| values.iter().fold(0.0, |sum, v| sum + v) / area as f32)
            .collect();
        check(&bench.values(&*ys), &means, &y, "mean_pool");
    });
}

/// Adds `count` products to `start`, in the kernels' order.
fn dot(start: f32, count: usize, product: impl Fn(usize) -> f32) -> f32 {
    (0..count).fold(start, |sum, k| sum + product(k))
}

#[test]
fn linear_and_its_gradients() {
    let (batch, inputs, outputs) = (13, 37, 29);
    let x = noise(1, batch * inputs);
    let w = noise(2, outputs * inputs);
    let bias = noise(3, outputs);
    let gy = noise(4, batch * outputs);
    let before = noise(5, outputs * inputs + EXTRA);
    let sizes = [batch, inputs, outputs].map(|size| I32(size as i32));
    let table = |rows: usize, columns: usize, f: &dyn Fn(usize, usize) -> f32| -> Vec<f32> {
        (0..rows * columns)
            .map(|i| f(i / columns, i % columns))
            .collect()
    };
    on_benches(|bench| {
        let [xs, ws, biases, gys] = [&x, &w, &bias, &gy].map(|values| bench.buffer(values));
        let [xs, ws, biases, gys] = [&*xs, &*ws, &*biases, &*gys].map(Buffer);
        let run = |kernel: KernelName, arguments: &[&[_]], expected: Vec<f32>| {
            let target = bench.buffer(&before);
            let arguments = [&[&[Buffer(&*target)][..]], arguments].concat().concat();
            bench.launch(kernel, expected.len() + EXTRA, &arguments);
            check(&bench.values(&*target), &expected, &before, kernel.as_str());
        };
        run(
            KernelName::Linear,
            &[&[xs, ws, biases], &sizes],
            table(batch, outputs, &|b, o| {
                dot(bias[o], inputs, |i| x[b * inputs + i] * w[o * inputs + i])
            }),
        );
        run(
            KernelName::LinearGradInput,
            &[&[gys, ws], &sizes],
            table(batch, inputs, &|b, i| {
                dot(0.0, outputs, |o| gy[b * outputs + o] * w[o * inputs + i])
            }),
        );
        run(
            KernelName::LinearGradWeight,
            &[&[gys, xs], &sizes],
            table(outputs, inputs, &|o, i| {
                dot(0.0, batch, |b| gy[b * outputs + o] * x[b * inputs + i])
            }),
        );
        run(
            KernelName::LinearGradBias,
            &[&[gys], &[sizes[0], sizes[2]]],
            table(1, outputs, &|_, o| dot(0.0, batch, |b| gy[b * outputs + o])),
        );
    });
}

#[test]
fn convolution() {
    let (batch, inputs, outputs, size, taps) = (2, 3, 5, 11, 3);
    let width = size - taps + 1;
    let x = noise(1, batch * inputs * size * size);
    let w = noise(2, outputs * inputs * taps * taps);
    let bias = noise(3, outputs);
    let mut expected = Vec::new();
    for b in 0..batch {
        for o in 0..outputs {
            for row in 0..width {
                for column in 0..width {
                    let mut sum = bias[o];
                    for k in 0..inputs {
                        for r in 0..taps {
                            for c in 0..taps {
                                let value =
                                    x[((b * inputs + k) * size + row + r) * size + column + c];
                                sum += value * w[((o * inputs + k) * taps + r) * taps + c];
                            }
                        }
                    }
                    expected.push(sum);
                }
            }
        }
    }
    let before = noise(4, expected.len() + EXTRA);
    on_benches(|bench| {
        let [xs, ws, biases, ys] = [&x, &w, &bias, &before].map(|values| bench.buffer(values));
        let pointers = [&*ys, &*xs, &*ws, &*biases].map(Buffer);
        let sizes = [batch, inputs, outputs, size, taps].map(|size| I32(size as i32));
        let arguments = [&pointers[..], &sizes].concat();
        bench.launch(KernelName::Conv2d, expected.len() + EXTRA, &arguments);
        check(&bench.values(&*ys), &expected, &before, "conv2d");
    });
}
