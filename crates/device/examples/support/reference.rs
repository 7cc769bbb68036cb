//! Reference implementations of every kernel in plain Rust, and a comparison with a
//! device's results. Shared by the tests and `examples/smoke.rs`; the including module
//! imports the traits, from inside or outside the crate.

use super::{Argument, Buffer, Context, KernelName, Module, Result};

/// Number of elements in the elementwise cases; deliberately not a multiple of any group
/// size.
const N: usize = 1000;
/// Elements past the end, which no kernel may touch.
const SPARE: usize = 50;
/// Rows, inputs and outputs of the layers.
const ROWS: usize = 5;
const INPUTS: usize = 7;
const OUTPUTS: usize = 3;

/// One launch: the buffer it modifies, its other arguments, and the expected result.
pub struct Case {
    pub kernel: KernelName,
    pub threads: usize,
    changed: Vec<f32>,
    given: Vec<Given>,
    expected: Vec<f32>,
}

enum Given {
    Floats(Vec<f32>),
    F32(f32),
    I32(usize),
}

impl Case {
    /// The kernel fills all `size` elements of a buffer that initially holds `before`.
    fn new(
        kernel: KernelName,
        before: Vec<f32>,
        given: Vec<Given>,
        result: impl Fn(usize) -> f32,
    ) -> Case {
        let size = before.len();
        let spare = vec![-7.0; SPARE];
        Case {
            kernel,
            threads: size + SPARE,
            expected: (0..size).map(result).chain(spare.clone()).collect(),
            changed: [before, spare].concat(),
            given,
        }
    }

    /// Runs the case; returns `None` if the device agrees, otherwise the first difference.
    pub fn run(&self, context: &dyn Context, module: &dyn Module) -> Result<Option<String>> {
        let kernel = module.kernel(self.kernel)?;
        let changed = upload(context, &self.changed)?;
        let mut buffers: Vec<Box<dyn Buffer>> = Vec::new();
        for given in &self.given {
            if let Given::Floats(values) = given {
                buffers.push(upload(context, values)?);
            }
        }
        let mut inputs = buffers.iter();
        let rest = self.given.iter().filter_map(|given| match given {
            Given::Floats(_) => inputs.next().map(|buffer| Argument::Buffer(&**buffer)),
            Given::F32(value) => Some(Argument::F32(*value)),
            Given::I32(value) => i32::try_from(*value).ok().map(Argument::I32),
        });
        let arguments: Vec<Argument<'_>> = [Argument::Buffer(&*changed)]
            .into_iter()
            .chain(rest)
            .collect();
        context.launch(&*kernel, self.threads, &arguments)?;
        context.synchronize()?;
        let actual = download(context, &*changed)?;
        Ok(difference(&actual, &self.expected))
    }
}

/// Allocates a buffer with these values.
pub fn upload(context: &dyn Context, values: &[f32]) -> Result<Box<dyn Buffer>> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect();
    let buffer = context.allocate(bytes.len())?;
    context.upload(&*buffer, &bytes)?;
    Ok(buffer)
}

/// Reads all values of a buffer.
pub fn download(context: &dyn Context, buffer: &dyn Buffer) -> Result<Vec<f32>> {
    let mut bytes = vec![0u8; buffer.bytes()];
    context.download(&mut bytes, buffer)?;
    let values = bytes.chunks_exact(4);
    Ok(values
        .map(|chunk| f32::from_ne_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]))
        .collect())
}

/// Describes the first difference larger than compilers may introduce: some fuse `a * b +
/// c` into one operation with a single rounding, some do not.
fn difference(actual: &[f32], expected: &[f32]) -> Option<String> {
    if actual.len() != expected.len() {
        return Some(format!(
            "{} values instead of {}",
            actual.len(),
            expected.len()
        ));
    }
    let close = |a: f32, e: f32| (a - e).abs() <= 1e-5 * e.abs().max(1.0);
    let index = (0..actual.len()).find(|&i| !close(actual[i], expected[i]))?;
    let (is, should) = (actual[index], expected[index]);
    Some(format!("element {index} is {is}, expected {should}"))
}

/// Varying values of both signs.
pub fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i * 37 + seed * 101) % 200) as f32 / 100.0 - 0.995)
        .collect()
}

/// One case per kernel, in source order.
pub fn cases() -> Vec<Case> {
    let mut cases = elementwise();
    cases.extend(layers());
    cases.sort_by_key(|case| case.kernel);
    cases
}

fn elementwise() -> Vec<Case> {
    use Given::{F32, Floats, I32};
    let (x, y) = (values(N, 1), values(N, 2));
    let zeros = || vec![0.0; N];
    let means = values(4 * N, 3);
    let mean = |i: usize| means[4 * i..][..4].iter().sum::<f32>() / 4.0;
    let squares = x.iter().map(|v| v * v).sum::<f32>() / N as f32;
    let busy = |i: usize| (0..20).fold(y[i], |v, _| v * 0.999 + 0.001);
    let is_positive = |i: usize| if x[i] > 0.0 { 1.0 } else { 0.0 };
    let input = || Floats(x.clone());
    vec![
        Case::new(KernelName::Fill, zeros(), vec![F32(2.5), I32(N)], |_| 2.5),
        Case::new(
            KernelName::Saxpy,
            y.clone(),
            vec![input(), F32(3.0), I32(N)],
            |i| 3.0 * x[i] + y[i],
        ),
        Case::new(KernelName::Busy, y.clone(), vec![I32(20), I32(N)], busy),
        Case::new(KernelName::Relu, zeros(), vec![input(), I32(N)], |i| {
            x[i].max(0.0)
        }),
        Case::new(
            KernelName::ReluGrad,
            zeros(),
            vec![Floats(y.clone()), input(), I32(N)],
            |i| y[i] * is_positive(i),
        ),
        Case::new(KernelName::Mse, vec![0.0], vec![input(), I32(N)], |_| {
            squares
        }),
        Case::new(KernelName::MseGrad, zeros(), vec![input(), I32(N)], |i| {
            2.0 * x[i] / N as f32
        }),
        Case::new(
            KernelName::Sgd,
            y.clone(),
            vec![input(), F32(0.1), I32(N)],
            |i| y[i] - 0.1 * x[i],
        ),
        Case::new(
            KernelName::MeanPool,
            zeros(),
            vec![Floats(means.clone()), I32(4), I32(N)],
            mean,
        ),
    ]
}

fn layers() -> Vec<Case> {
    use Given::{Floats, I32};
    let x = values(ROWS * INPUTS, 4);
    let w = values(OUTPUTS * INPUTS, 5);
    let bias = values(OUTPUTS, 6);
    let gy = values(ROWS * OUTPUTS, 7);
    let sizes = || [I32(ROWS), I32(INPUTS), I32(OUTPUTS)];
    let given = |lists: &[&Vec<f32>]| -> Vec<Given> {
        let floats = lists.iter().map(|&list| Floats(list.clone()));
        floats.chain(sizes()).collect()
    };
    let zeros = |count: usize| vec![0.0; count];
    let over = |count: usize, term: &dyn Fn(usize) -> f32| (0..count).map(term).sum::<f32>();
    vec![
        Case::new(
            KernelName::Linear,
            zeros(ROWS * OUTPUTS),
            given(&[&x, &w, &bias]),
            |i| {
                let (row, column) = (i / OUTPUTS, i % OUTPUTS);
                let term = |k| x[row * INPUTS + k] * w[column * INPUTS + k];
                bias[column] + over(INPUTS, &term)
            },
        ),
        Case::new(
            KernelName::LinearGradInput,
            zeros(ROWS * INPUTS),
            given(&[&gy, &w]),
            |i| {
                let (row, column) = (i / INPUTS, i % INPUTS);
                over(OUTPUTS, &|k| gy[row * OUTPUTS + k] * w[k * INPUTS + column])
            },
        ),
        Case::new(
            KernelName::LinearGradWeight,
            zeros(OUTPUTS * INPUTS),
            given(&[&gy, &x]),
            |i| {
                let (row, column) = (i / INPUTS, i % INPUTS);
                over(ROWS, &|b| gy[b * OUTPUTS + row] * x[b * INPUTS + column])
            },
        ),
        Case::new(
            KernelName::LinearGradBias,
            zeros(OUTPUTS),
            vec![Floats(gy.clone()), I32(ROWS), I32(OUTPUTS)],
            |i| over(ROWS, &|b| gy[b * OUTPUTS + i]),
        ),
        convolution(),
    ]
}

fn convolution() -> Case {
    use Given::{Floats, I32};
    const BATCH: usize = 2;
    const FROM: usize = 3;
    const TO: usize = 4;
    const SIZE: usize = 9;
    const TAPS: usize = 3;
    const WIDTH: usize = SIZE - TAPS + 1;
    let x = values(BATCH * FROM * SIZE * SIZE, 8);
    let w = values(TO * FROM * TAPS * TAPS, 9);
    let bias = values(TO, 10);
    let mut expected = Vec::new();
    for b in 0..BATCH {
        for o in 0..TO {
            for (row, column) in (0..WIDTH * WIDTH).map(|i| (i / WIDTH, i % WIDTH)) {
                let mut sum = bias[o];
                for k in 0..FROM {
                    for (r, c) in (0..TAPS * TAPS).map(|i| (i / TAPS, i % TAPS)) {
                        sum += x[((b * FROM + k) * SIZE + row + r) * SIZE + column + c]
                            * w[((o * FROM + k) * TAPS + r) * TAPS + c];
                    }
                }
                expected.push(sum);
            }
        }
    }
    let sizes = [BATCH, FROM, TO, SIZE, TAPS].map(I32);
    let floats = [x, w, bias].map(Floats);
    Case::new(
        KernelName::Conv2d,
        vec![0.0; expected.len()],
        floats.into_iter().chain(sizes).collect(),
        |i| expected[i],
    )
}
