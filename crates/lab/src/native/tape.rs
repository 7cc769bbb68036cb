//! A tape: records forward operations and replays them in reverse for the backward pass.
//!
//! As in dynamic frameworks, the tape is rebuilt in every iteration; one of the tested
//! claims is that this has a cost each time.

use preheat_device::Result;

use super::ops::{LinearShape, Ops, Tensor};

/// A value on the tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var(usize);

/// One recorded operation.
enum Node {
    Linear {
        y: Var,
        x: Var,
        weight: Var,
        bias: Var,
        shape: LinearShape,
    },
    Mse {
        y: Var,
    },
}

/// The operations of one iteration.
pub struct Tape<'a> {
    ops: &'a Ops,
    recording: bool,
    values: Vec<Tensor>,
    nodes: Vec<Node>,
}

/// Gradients by variable; `None` where no gradient flowed.
pub struct Gradients(Vec<Option<Tensor>>);

impl Gradients {
    /// The gradient of `var`.
    pub fn of(&self, var: Var) -> Option<&Tensor> {
        self.0.get(var.0)?.as_ref()
    }
}

impl<'a> Tape<'a> {
    /// Creates an empty tape; if it is not recording, backward has nothing to replay.
    pub fn new(ops: &'a Ops, recording: bool) -> Tape<'a> {
        Tape {
            ops,
            recording,
            values: Vec::new(),
            nodes: Vec::new(),
        }
    }

    /// Adds an input or a parameter.
    pub fn leaf(&mut self, tensor: &Tensor) -> Var {
        self.push(tensor.clone())
    }

    fn push(&mut self, tensor: Tensor) -> Var {
        self.values.push(tensor);
        Var(self.values.len() - 1)
    }

    fn record(&mut self, node: Node) {
        if self.recording {
            self.nodes.push(node);
        }
    }

    /// The value of `var`.
    pub fn value(&self, var: Var) -> &Tensor {
        &self.values[var.0]
    }

    /// A fully connected layer.
    pub fn linear(&mut self, x: Var, weight: Var, bias: Var, shape: LinearShape) -> Result<Var> {
        let tensor = self.ops.tensor(shape.batch * shape.outputs)?;
        let inputs = [self.value(x), self.value(weight), self.value(bias)];
        self.ops.linear(&tensor, inputs, shape)?;
        let y = self.push(tensor);
        self.record(Node::Linear {
            y,
            x,
            weight,
            bias,
            shape,
        });
        Ok(y)
    }

    /// The squared error of `y` against zeros.
    pub fn mse(&mut self, y: Var) -> Result<Var> {
        let tensor = self.ops.tensor(1)?;
        self.ops.mse(&tensor, self.value(y))?;
        let loss = self.push(tensor);
        self.record(Node::Mse { y });
        Ok(loss)
    }

    /// Returns true if anything was recorded.
    pub fn is_recorded(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// The gradients of the last recorded loss.
    pub fn backward(&self) -> Result<Gradients> {
        let mut gradients: Vec<Option<Tensor>> = vec![None; self.values.len()];
        for node in self.nodes.iter().rev() {
            match *node {
                Node::Mse { y } => {
                    let gradient = self.ops.tensor(self.value(y).len)?;
                    self.ops.mse_grad(&gradient, self.value(y))?;
                    self.accumulate(&mut gradients, y, gradient)?;
                }
                Node::Linear {
                    y,
                    x,
                    weight,
                    bias,
                    shape,
                } => {
                    let Some(gy) = gradients[y.0].clone() else {
                        continue;
                    };
                    let gx = self.ops.tensor(shape.batch * shape.inputs)?;
                    self.ops
                        .linear_grad_input(&gx, [&gy, self.value(weight)], shape)?;
                    self.accumulate(&mut gradients, x, gx)?;
                    let gw = self.ops.tensor(shape.inputs * shape.outputs)?;
                    self.ops
                        .linear_grad_weight(&gw, [&gy, self.value(x)], shape)?;
                    self.accumulate(&mut gradients, weight, gw)?;
                    let gb = self.ops.tensor(shape.outputs)?;
                    self.ops.linear_grad_bias(&gb, &gy, shape)?;
                    self.accumulate(&mut gradients, bias, gb)?;
                }
            }
        }
        Ok(Gradients(gradients))
    }

    /// Sums the gradients of a variable that is used more than once.
    fn accumulate(
        &self,
        gradients: &mut [Option<Tensor>],
        var: Var,
        gradient: Tensor,
    ) -> Result<()> {
        match &gradients[var.0] {
            Some(sum) => self.ops.saxpy(sum, &gradient, 1.0),
            None => {
                gradients[var.0] = Some(gradient);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use preheat_device::{Kind, Options};

    use super::*;
    use crate::native::ops::{HostFloats, noise};

    fn ops() -> Ops {
        let mut device = preheat_device::open(Kind::Cpu, &Options::default());
        device
            .initialize()
            .expect("the cpu device is always available");
        Ops::new(device.context().expect("it has a context"))
    }

    /// The loss of Linear → Linear for these values, and its gradients.
    fn loss(ops: &Ops, host: &[Vec<f32>; 5]) -> (f32, Vec<Vec<f32>>) {
        let first = LinearShape {
            batch: 3,
            inputs: 4,
            outputs: 5,
        };
        let second = LinearShape {
            batch: 3,
            inputs: 5,
            outputs: 2,
        };
        let mut tape = Tape::new(ops, true);
        let vars: Vec<Var> = host
            .iter()
            .map(|values| {
                let tensor = ops.tensor(values.len()).expect("there is memory");
                ops.upload(&tensor, &HostFloats::new(values))
                    .expect("it fits");
                tape.leaf(&tensor)
            })
            .collect();
        let hidden = tape
            .linear(vars[0], vars[1], vars[2], first)
            .expect("linear");
        let y = tape
            .linear(hidden, vars[3], vars[4], second)
            .expect("linear");
        let loss = tape.mse(y).expect("mse");
        let gradients = tape.backward().expect("backward");
        let value = ops.download(tape.value(loss)).expect("download")[0];
        let gradients = vars
            .iter()
            .map(|&var| {
                ops.download(gradients.of(var).expect("it flowed"))
                    .expect("download")
            })
            .collect();
        (value, gradients)
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let ops = ops();
        let host = [
            noise(12, 1),
            noise(20, 2),
            noise(5, 3),
            noise(10, 4),
            noise(2, 5),
        ];
        let (_, gradients) = loss(&ops, &host);
        let step = 1e-2;
        for (which, values) in host.iter().enumerate() {
            for index in 0..values.len() {
                let at = |delta: f32| {
                    let mut moved = host.clone();
                    moved[which][index] += delta;
                    loss(&ops, &moved).0
                };
                let numeric = (at(step) - at(-step)) / (2.0 * step);
                let exact = gradients[which][index];
                assert!(
                    (numeric - exact).abs() < 2e-2 * (1.0 + exact.abs()),
                    "leaf {which}[{index}]: {numeric} from differences, {exact} from the tape"
                );
            }
        }
    }

    #[test]
    fn a_variable_used_twice_gets_both_gradients() {
        let ops = ops();
        let shape = LinearShape {
            batch: 1,
            inputs: 1,
            outputs: 1,
        };
        let one = |value: f32| {
            let tensor = ops.tensor(1).expect("there is memory");
            ops.upload(&tensor, &HostFloats::new(&[value]))
                .expect("it fits");
            tensor
        };
        let mut tape = Tape::new(&ops, true);
        let (x, w, b) = (
            tape.leaf(&one(2.0)),
            tape.leaf(&one(3.0)),
            tape.leaf(&one(0.0)),
        );
        // y = w (w x): dL/dw = 2 y · 2 w x
        let inner = tape.linear(x, w, b, shape).expect("linear");
        let y = tape.linear(inner, w, b, shape).expect("linear");
        tape.mse(y).expect("mse");
        let gradients = tape.backward().expect("backward");
        let gradient = ops
            .download(gradients.of(w).expect("it flowed"))
            .expect("download");
        assert_eq!(gradient, [2.0 * 18.0 * 2.0 * 3.0 * 2.0]);
    }

    #[test]
    fn without_recording_nothing_flows() {
        let ops = ops();
        let tensor = ops.tensor(4).expect("there is memory");
        ops.upload(&tensor, &HostFloats::new(&[1.0; 4]))
            .expect("it fits");
        let mut tape = Tape::new(&ops, false);
        let y = tape.leaf(&tensor);
        tape.mse(y).expect("mse");
        assert!(tape.backward().expect("backward").of(y).is_none());
    }
}
