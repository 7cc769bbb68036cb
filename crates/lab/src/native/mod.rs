//! The models of the native experiments, built on our kernels.

pub mod ops;
pub mod tape;

use preheat_device::Result;

use ops::{ConvShape, HostFloats, LinearShape, Ops, Tensor};

// The networks of the `infer` experiment, on the host and on a device.

/// One layer, without its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Linear(LinearShape),
    Conv(ConvShape),
    Relu { len: usize },
    MeanPool { len: usize, area: usize },
}

/// A network before a program has touched a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    layers: Vec<Layer>,
    /// Weight and bias of each layer that has them, in order.
    weights: Vec<HostFloats>,
    /// Number of floats in the input.
    pub input_len: usize,
}

impl Network {
    /// `inputs` → `width` → `width` → 10, with ReLU between.
    pub fn mlp(batch: usize, inputs: usize, width: usize) -> Network {
        let linear = |inputs, outputs| {
            Layer::Linear(LinearShape {
                batch,
                inputs,
                outputs,
            })
        };
        let relu = Layer::Relu { len: batch * width };
        let layers = vec![
            linear(inputs, width),
            relu,
            linear(width, width),
            relu,
            linear(width, 10),
        ];
        Network::new(layers, batch * inputs)
    }

    /// Two 3×3 convolutions over one 28×28 image, a mean over the result, 10 outputs.
    pub fn conv() -> Network {
        let conv = |inputs, outputs, size| ConvShape {
            batch: 1,
            inputs,
            outputs,
            size,
            taps: 3,
        };
        let (first, second) = (conv(1, 8, 28), conv(8, 16, 26));
        let layers = vec![
            Layer::Conv(first),
            Layer::Relu {
                len: first.output_len(),
            },
            Layer::Conv(second),
            Layer::Relu {
                len: second.output_len(),
            },
            Layer::MeanPool {
                len: 16,
                area: second.output_len() / 16,
            },
            Layer::Linear(LinearShape {
                batch: 1,
                inputs: 16,
                outputs: 10,
            }),
        ];
        Network::new(layers, 28 * 28)
    }

    fn new(layers: Vec<Layer>, input_len: usize) -> Network {
        let weights = layers
            .iter()
            .flat_map(|layer| match layer {
                Layer::Linear(s) => vec![s.inputs * s.outputs, s.outputs],
                Layer::Conv(s) => vec![s.inputs * s.outputs * s.taps * s.taps, s.outputs],
                Layer::Relu { .. } | Layer::MeanPool { .. } => vec![],
            })
            .enumerate()
            .map(|(index, len)| HostFloats::noise(len, index as u32))
            .collect();
        Network {
            layers,
            weights,
            input_len,
        }
    }

    /// Allocates weights, input and every layer's output on the device.
    pub fn allocate(&self, ops: &Ops) -> Result<Loaded> {
        let weights: Result<_> = self.weights.iter().map(|w| ops.tensor(w.len())).collect();
        let outputs: Result<_> = self
            .layers
            .iter()
            .map(|layer| {
                ops.tensor(match *layer {
                    Layer::Linear(s) => s.batch * s.outputs,
                    Layer::Conv(s) => s.output_len(),
                    Layer::Relu { len } | Layer::MeanPool { len, .. } => len,
                })
            })
            .collect();
        Ok(Loaded {
            layers: self.layers.clone(),
            weights: weights?,
            outputs: outputs?,
            input: ops.tensor(self.input_len)?,
        })
    }

    /// Uploads the weights.
    pub fn upload_weights(&self, ops: &Ops, loaded: &Loaded) -> Result<()> {
        for (tensor, values) in loaded.weights.iter().zip(&self.weights) {
            ops.upload(tensor, values)?;
        }
        Ok(())
    }
}

/// A network on a device.
pub struct Loaded {
    layers: Vec<Layer>,
    weights: Vec<Tensor>,
    outputs: Vec<Tensor>,
    /// The input tensor.
    pub input: Tensor,
}

impl Loaded {
    /// Launches every layer; the output is valid after a synchronization.
    pub fn forward(&self, ops: &Ops) -> Result<&Tensor> {
        let mut weights = self.weights.iter();
        let mut next = || weights.next().unwrap_or(&self.input);
        let mut x = &self.input;
        for (layer, y) in self.layers.iter().zip(&self.outputs) {
            match *layer {
                Layer::Linear(shape) => ops.linear(y, [x, next(), next()], shape)?,
                Layer::Conv(shape) => ops.conv2d(y, [x, next(), next()], shape)?,
                Layer::Relu { .. } => ops.relu(y, x)?,
                Layer::MeanPool { area, .. } => ops.mean_pool(y, x, area)?,
            }
            x = y;
        }
        Ok(x)
    }
}
