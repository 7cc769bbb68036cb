//! Tensors and operations on them, one kernel launch each.

use std::cell::OnceCell;
use std::rc::Rc;

use preheat_device::{Argument, Buffer, Context, Error, From, Kernel, KernelName, Module, Result};

/// Floats on a device. Clones share the memory.
#[derive(Clone)]
pub struct Tensor {
    buffer: Rc<dyn Buffer>,
    /// Number of floats.
    pub len: usize,
}

/// The shape of a fully connected layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearShape {
    /// Rows of the input.
    pub batch: usize,
    /// Columns of the input.
    pub inputs: usize,
    /// Columns of the output.
    pub outputs: usize,
}

/// The shape of a convolution without padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvShape {
    /// Number of images.
    pub batch: usize,
    /// Channels of the input.
    pub inputs: usize,
    /// Channels of the output.
    pub outputs: usize,
    /// Width and height of the input.
    pub size: usize,
    /// Width and height of the filter.
    pub taps: usize,
}

impl ConvShape {
    /// Number of floats in the output.
    pub fn output_len(self) -> usize {
        let width = self.size - self.taps + 1;
        self.batch * self.outputs * width * width
    }
}

/// A context and its kernels, which are loaded on the first launch.
pub struct Ops {
    // Dropped before the context it belongs to.
    loaded: OnceCell<Loaded>,
    context: Box<dyn Context>,
}

/// The kernels by name, and their module.
struct Loaded {
    kernels: Vec<Box<dyn Kernel>>,
    _module: Box<dyn Module>,
}

impl Ops {
    /// Creates the operations of a context; nothing is loaded yet.
    pub fn new(context: Box<dyn Context>) -> Ops {
        Ops {
            loaded: OnceCell::new(),
            context,
        }
    }

    /// Compiles and loads the kernels from their most compiled shipped form, as frameworks
    /// do that ship their kernels. A second call does nothing.
    pub fn load(&self) -> Result<()> {
        self.loaded().map(|_| ())
    }

    fn loaded(&self) -> Result<&Loaded> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        let (module, _) = self.context.compile(From::Shipped)?;
        let kernels: Result<_> = KernelName::ALL
            .iter()
            .map(|&name| module.kernel(name))
            .collect();
        let loaded = Loaded {
            kernels: kernels?,
            _module: module,
        };
        Ok(self.loaded.get_or_init(|| loaded))
    }

    /// The context that the kernels run in.
    pub fn context(&self) -> &dyn Context {
        self.context.as_ref()
    }

    /// Allocates `len` floats from the pool.
    pub fn tensor(&self, len: usize) -> Result<Tensor> {
        Ok(Tensor {
            buffer: self.context.allocate_pooled(len * 4)?.into(),
            len,
        })
    }

    /// Uploads values to a tensor.
    pub fn upload(&self, target: &Tensor, values: &HostFloats) -> Result<()> {
        self.context.upload(target.buffer.as_ref(), &values.0)
    }

    /// Downloads a tensor's values.
    pub fn download(&self, source: &Tensor) -> Result<Vec<f32>> {
        let mut bytes = vec![0; source.len * 4];
        self.context.download(&mut bytes, source.buffer.as_ref())?;
        Ok(bytes
            .chunks_exact(4)
            .map(|four| f32::from_ne_bytes([four[0], four[1], four[2], four[3]]))
            .collect())
    }

    /// Waits for all launched work.
    pub fn synchronize(&self) -> Result<()> {
        self.context.synchronize()
    }

    fn launch(&self, name: KernelName, threads: usize, arguments: &[Value<'_>]) -> Result<()> {
        let arguments: Result<Vec<Argument<'_>>> = arguments
            .iter()
            .map(|value| {
                Ok(match value {
                    Value::T(tensor) => Argument::Buffer(tensor.buffer.as_ref()),
                    Value::F(float) => Argument::F32(*float),
                    Value::N(count) => Argument::I32(i32::try_from(*count).map_err(|_| {
                        Error::unsupported(
                            format!("{} over {count} elements", name.as_str()),
                            "kernels count in 32 bits",
                        )
                    })?),
                })
            })
            .collect();
        let kernel = self.loaded()?.kernels[name as usize].as_ref();
        self.context.launch(kernel, threads, &arguments?)
    }

    /// `y = a x + y`
    pub fn saxpy(&self, y: &Tensor, x: &Tensor, a: f32) -> Result<()> {
        use Value::{F, N, T};
        self.launch(KernelName::Saxpy, y.len, &[T(y), T(x), F(a), N(y.len)])
    }

    /// `y = x wᵀ + b`
    pub fn linear(&self, y: &Tensor, [x, w, b]: [&Tensor; 3], shape: LinearShape) -> Result<()> {
        use Value::{N, T};
        let LinearShape {
            batch,
            inputs,
            outputs,
        } = shape;
        let sizes = [N(batch), N(inputs), N(outputs)];
        let [n1, n2, n3] = sizes;
        self.launch(
            KernelName::Linear,
            batch * outputs,
            &[T(y), T(x), T(w), T(b), n1, n2, n3],
        )
    }

    /// `gx = gy w`
    pub fn linear_grad_input(
        &self,
        gx: &Tensor,
        [gy, w]: [&Tensor; 2],
        shape: LinearShape,
    ) -> Result<()> {
        use Value::{N, T};
        let LinearShape {
            batch,
            inputs,
            outputs,
        } = shape;
        self.launch(
            KernelName::LinearGradInput,
            batch * inputs,
            &[T(gx), T(gy), T(w), N(batch), N(inputs), N(outputs)],
        )
    }

    /// `gw = gyᵀ x`
    pub fn linear_grad_weight(
        &self,
        gw: &Tensor,
        [gy, x]: [&Tensor; 2],
        shape: LinearShape,
    ) -> Result<()> {
        use Value::{N, T};
        let LinearShape {
            batch,
            inputs,
            outputs,
        } = shape;
        self.launch(
            KernelName::LinearGradWeight,
            outputs * inputs,
            &[T(gw), T(gy), T(x), N(batch), N(inputs), N(outputs)],
        )
    }

    /// `gb = Σ gy`
    pub fn linear_grad_bias(&self, gb: &Tensor, gy: &Tensor, shape: LinearShape) -> Result<()> {
        use Value::{N, T};
        self.launch(
            KernelName::LinearGradBias,
            shape.outputs,
            &[T(gb), T(gy), N(shape.batch), N(shape.outputs)],
        )
    }

    /// `y = max(x, 0)`
    pub fn relu(&self, y: &Tensor, x: &Tensor) -> Result<()> {
        use Value::{N, T};
        self.launch(KernelName::Relu, x.len, &[T(y), T(x), N(x.len)])
    }

    /// `loss = mean(y²)`
    pub fn mse(&self, loss: &Tensor, y: &Tensor) -> Result<()> {
        use Value::{N, T};
        self.launch(KernelName::Mse, 1, &[T(loss), T(y), N(y.len)])
    }

    /// `gy = 2 y / n`
    pub fn mse_grad(&self, gy: &Tensor, y: &Tensor) -> Result<()> {
        use Value::{N, T};
        self.launch(KernelName::MseGrad, y.len, &[T(gy), T(y), N(y.len)])
    }

    /// `p = p − rate g`
    pub fn sgd(&self, p: &Tensor, g: &Tensor, rate: f32) -> Result<()> {
        use Value::{F, N, T};
        self.launch(KernelName::Sgd, p.len, &[T(p), T(g), F(rate), N(p.len)])
    }

    /// A convolution without padding.
    pub fn conv2d(&self, y: &Tensor, [x, w, b]: [&Tensor; 3], shape: ConvShape) -> Result<()> {
        use Value::{N, T};
        let ConvShape {
            batch,
            inputs,
            outputs,
            size,
            taps,
        } = shape;
        self.launch(
            KernelName::Conv2d,
            shape.output_len(),
            &[
                T(y),
                T(x),
                T(w),
                T(b),
                N(batch),
                N(inputs),
                N(outputs),
                N(size),
                N(taps),
            ],
        )
    }

    /// The mean over each run of `area` values.
    pub fn mean_pool(&self, y: &Tensor, x: &Tensor, area: usize) -> Result<()> {
        use Value::{N, T};
        self.launch(
            KernelName::MeanPool,
            y.len,
            &[T(y), T(x), N(area), N(y.len)],
        )
    }
}

/// A launch argument, with short names.
enum Value<'a> {
    T(&'a Tensor),
    F(f32),
    N(usize),
}

/// Floats on the host, already as bytes, so that no timed copy includes a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFloats(Vec<u8>);

impl HostFloats {
    /// Converts these values.
    pub fn new(values: &[f32]) -> HostFloats {
        HostFloats(
            values
                .iter()
                .flat_map(|value| value.to_ne_bytes())
                .collect(),
        )
    }

    /// Values between −0.5 and 0.5, the same on every machine, so that all starts compute
    /// the same.
    pub fn noise(len: usize, seed: u32) -> HostFloats {
        HostFloats::new(&noise(len, seed))
    }

    /// Number of floats.
    pub fn len(&self) -> usize {
        self.0.len() / 4
    }
}

/// See [`HostFloats::noise`].
pub fn noise(len: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9).wrapping_add(0x85EB_CA6B);
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        })
        .collect()
}
