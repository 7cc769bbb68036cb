//! Compares each kernel with the same computation in Rust, and tests the semantics of the
//! language that the kernels themselves do not exercise.
//!
//! Both sides compute in the same order and precision, so results are bit-identical. Every
//! kernel is launched with more threads than it has elements, and every target is longer
//! than needed, so that writes past the end are detected.

use std::sync::Arc;

use super::{Bench, noise};
use crate::Argument::{Buffer, F32, I32};
use crate::KernelName;
use crate::cpu::compiler;
use crate::cpu::module::{Call, Code};
use crate::cpu::processor::target;
use crate::cpu::queue::Work;

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

/// The content of `y` after running `body` for the indices 0 to 3, with `a` = 0.5 and `n` =
/// -7.
fn run(body: &str) -> [f32; 4] {
    let source = format!("KERNEL void k(GLOBAL float *y, float a, int n) {{ {body} }}");
    let isa = target().expect("this processor is supported");
    let mut units = compiler::build(&source, &*isa).expect("the source is right");
    compiler::optimise(&mut units, &*isa).expect("it can be optimised");
    let object = compiler::emit(&units, &*isa).expect("it has machine code");
    let code = Arc::new(Code::load(&object).expect("it can be loaded"));
    let mut y = [0.0; 4];
    let slots = [
        y.as_mut_ptr() as u64,
        u64::from(0.5f32.to_bits()),
        u64::from((-7i32).cast_unsigned()),
    ];
    // SAFETY: the slots have the types that the source above declares; no body below
    // touches more than four elements, and `y` outlives the call, which is not queued.
    let call = unsafe { Call::new(Arc::clone(&code), &object.symbols[0], slots.into()) };
    call.run(0, 4);
    y
}

#[test]
fn arithmetic_follows_c() {
    for (expression, value) in [
        ("7 / 2 + 0.0f", 3.0),
        ("n / 2", -3.0),
        ("n % 3", -1.0),
        ("n / a", -14.0),
        ("-n - -a", 7.5),
        ("- - 2", 2.0),
        ("1 - 2 - 3", -4.0),
        ("2147483647 + 1", -2_147_483_648.0),
        ("1.5e3f", 1500.0),
    ] {
        let found = run(&format!("y[GLOBAL_ID] = {expression};"));
        assert_eq!(found, [value; 4], "{expression}");
    }
}

#[test]
fn comparisons_are_numbers() {
    for (expression, value) in [
        ("n < 0", 1.0),
        ("n <= -7", 1.0),
        ("n > -7", 0.0),
        ("n >= -7", 1.0),
        ("n == -7", 1.0),
        ("n != -7", 0.0),
        ("a < 1", 1.0),
        ("a <= 0.4f", 0.0),
        ("a > 0", 1.0),
        ("a >= 0.5f", 1.0),
        ("a == 0.5f", 1.0),
        ("a != a", 0.0),
        ("(n < 0) + (a > 0) * 2", 3.0),
    ] {
        let found = run(&format!("y[GLOBAL_ID] = {expression};"));
        assert_eq!(found, [value; 4], "{expression}");
    }
}

#[test]
fn with_nan_only_unequal_is_true() {
    let nan = "float z = 0.0f / 0.0f;";
    for (expression, value) in [
        ("z < z", 0.0),
        ("z <= z", 0.0),
        ("z > z", 0.0),
        ("z >= z", 0.0),
        ("z == z", 0.0),
        ("z != z", 1.0),
    ] {
        let found = run(&format!("{nan} y[GLOBAL_ID] = {expression};"));
        assert_eq!(found, [value; 4], "{expression}");
    }
}

#[test]
fn a_division_never_traps() {
    let smallest = "int least = -2147483647 - 1; int zero = n + 7; int minus = n + 6;";
    for (expression, value) in [
        ("least / minus", -2_147_483_648.0),
        ("least % minus", 0.0),
        ("5 / zero * 0", 0.0),
        ("5 % zero * 0", 0.0),
        ("5 / 0 * 0", 0.0),
    ] {
        let found = run(&format!("{smallest} y[GLOBAL_ID] = {expression};"));
        assert_eq!(found, [value; 4], "{expression}");
    }
}

#[test]
fn branches_follow_their_conditions() {
    let body = "int i = GLOBAL_ID;
        if (i == 0) { y[i] = 10; } else if (i % 2 == 0) { y[i] = 20; } else { y[i] = 30; }";
    assert_eq!(run(body), [10.0, 30.0, 20.0, 30.0]);
}

#[test]
fn inner_names_shadow_outer_ones() {
    let body = "int i = GLOBAL_ID; float v = 1.0f;
        { float v = 2.0f; v = v + 1; y[i] = v; }
        for (int v = 0; v < 3; v = v + 1) { y[i] = y[i] + v; }
        y[i] = y[i] * 10 + v;";
    assert_eq!(run(body), [61.0; 4]);
}

#[test]
fn each_index_has_its_own_parameters() {
    let body = "n = n + 1; a = a * 2; y[GLOBAL_ID] = n + a;";
    assert_eq!(run(body), [-5.0; 4]);
}

#[test]
fn a_loop_may_run_zero_times() {
    let body = "float v = 4; for (int k = 0; k < n; k = k + 1) { v = 0; } y[GLOBAL_ID] = v;";
    assert_eq!(run(body), [4.0; 4]);
}
