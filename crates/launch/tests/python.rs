//! Recording PyTorch: programs behave as without preheat, and are recorded.

#[path = "../../../tests/missing.rs"]
mod missing;
mod support;

use std::process::Command;

use missing::missing;
use preheat_wire::{Iteration, Kind};
use support::samples::{self, Sample};
use support::{Scratch, text};

/// A Python with PyTorch, of at least this version.
fn python(at_least: u32) -> Option<String> {
    let variable = match at_least {
        2.. => "PREHEAT_TEST_TORCH_2_PYTHON",
        _ => "PREHEAT_TEST_TORCH_PYTHON",
    };
    let python = std::env::var(variable).unwrap_or("/usr/bin/python3".into());
    let version = Command::new(&python)
        .args(["-c", "import torch; print(torch.__version__)"])
        .output();
    let version = version.map(|output| text(&output.stdout));
    let major = version.ok().and_then(|version| {
        let major = version.split('.').next()?.parse::<u32>();
        major.ok()
    });
    if major.is_none_or(|major| major < at_least) {
        // An older one is PyTorch too: a machine may be required to have one but not the
        // other.
        let component = if major.is_some() { "torch-2" } else { "torch" };
        missing(component, &format!("{python} has no PyTorch {at_least}"));
        return None;
    }
    Some(python)
}

/// Runs a program plainly and recorded, and compares the two. Returns the records of its
/// process.
fn both(python: &str, program: &str) -> Vec<Sample> {
    let scratch = Scratch::new();
    let path = scratch.path().join("program.py");
    std::fs::write(&path, program).expect("a file");
    let path = path.to_str().expect("text");
    // Warnings of PyTorch 2 have the time and the process, otherwise.
    let format = ("TORCH_LOGS_FORMAT", "%(message)s");
    let mut alone = Command::new(python);
    let alone = alone.arg(path).env(format.0, format.1).output();
    let alone = alone.expect("it runs");
    assert!(alone.status.success(), "{}", text(&alone.stderr));
    let mut with = scratch.launch(&["starts=1"], &[python, path]);
    let with = with.env(format.0, format.1).output().expect("it runs");
    assert_eq!(text(&with.stderr), text(&alone.stderr));
    assert_eq!(text(&with.stdout), text(&alone.stdout));
    let pid = scratch.manifest().starts[0].pid;
    samples::read(&scratch.recording().join(format!("start-1/{pid}-0.process")))
}

fn iterations(samples: &[Sample], which: Iteration) -> Vec<String> {
    samples::names(samples, Kind::Iteration, which as u16)
}

const LOADERS: &str = r#"
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
class Numbers(Dataset):
    def __len__(self):
        return 6
    def __getitem__(self, at):
        return torch.tensor([float(at)])
class Stream(IterableDataset):
    def __iter__(self):
        yield from range(3)
class Failing(Numbers):
    def __getitem__(self, at):
        raise KeyError("none of them")
if __name__ == "__main__":
    for workers in 0, 2:
        loader = DataLoader(Numbers(), batch_size=2, num_workers=workers)
        print(len(loader), [batch.tolist() for batch in loader])
        batches = iter(loader)
        print(type(batches).__name__, type(batches).__next__.__name__, len(batches))
        print(list(zip(batches, "abc")), next(batches, "over"))
        try:
            next(batches)
        except StopIteration as end:
            print("ended", end.args)
    print(list(DataLoader(Stream(), batch_size=None)))
    try:
        next(iter(DataLoader(Failing())))
    except KeyError as why:
        print(why)
    class Own(torch.utils.data.dataloader._SingleProcessDataLoaderIter):
        def __next__(self):
            return "own", super().__next__()
    print(list(Own(DataLoader(Numbers(), batch_size=3))))
"#;

#[test]
fn data_loaders_behave_the_same_and_their_batches_are_recorded() {
    let Some(python) = python(1) else { return };
    let recorded = iterations(&both(&python, LOADERS), Iteration::DataFetch);
    // Creating the iterator of a data loader starts its workers, which is also recorded.
    let (made, fetches): (Vec<String>, Vec<String>) =
        recorded.into_iter().partition(|name| name == "iter");
    assert_eq!(made.len(), 2 * 2 + 2, "{made:?}");
    // For each number of workers: three batches and an end, and manually three and three
    // ends. For the stream: three and an end, and one failure. For the user's class: two
    // and an end.
    assert_eq!(fetches, ["DataLoader"; 2 * (4 + 6) + 4 + 1 + 3]);
}

const OPTIMIZERS: &str = r#"
import gc, torch
weight = torch.nn.Parameter(torch.ones(1))
weight.grad = torch.ones(1)
first = torch.optim.SGD([weight], lr=0.1)
second = torch.optim.SGD([weight], lr=0.1)
other = torch.optim.Adam([weight])
for optimizer in first, second, other, first:
    optimizer.step()
del first, second, other, optimizer
gc.collect()
# One after the other, often at one address.
for of in torch.optim.Adagrad, torch.optim.RMSprop, torch.optim.Adagrad:
    made = of([weight], lr=0.1)
    made.step()
    del made
    gc.collect()
print(weight.shape)
"#;

#[test]
fn optimizers_of_one_class_are_numbered() {
    let Some(python) = python(1) else { return };
    let steps = iterations(&both(&python, OPTIMIZERS), Iteration::OptimizerStep);
    assert_eq!(
        steps,
        [
            "SGD",
            "SGD #2",
            "Adam",
            "SGD",
            "Adagrad",
            "RMSprop",
            "Adagrad #2"
        ]
    );
}

const MODULES: &str = r#"
import copy, inspect, pickle, sys, threading, traceback, weakref
import torch
from torch.nn import Linear, Module, Sequential
class Model(Module):
    def forward(self, x, *, plus=1):
        if isinstance(x, str):
            raise ValueError(x)
        return x + plus
class Own(Model):
    """Its call is its own, and goes on to the usual one."""
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)
class Deep(Module):
    def forward(self, depth):
        return depth and 1 + self(depth - 1)
x = torch.ones(1)
print(Own()(x), Own()(x, plus=4), Module.__call__(Model(), x), Model().__call__(x))
call = Module.__call__
print(inspect.signature(call), inspect.signature(Model().__call__), inspect.isfunction(call))
print(call.__name__, call.__qualname__, call.__module__, call.__doc__, call.__code__.co_name)
print(repr(call).split(" at ")[0], Model().__call__.__func__ is call, weakref.ref(call)() is call)
print(copy.copy(call) is call, copy.deepcopy(call) is call, pickle.loads(pickle.dumps(call)) is call)
call.own = 1; print(call.own, call.__dict__); del call.own
for wrong in (lambda: Sequential(Model())("bad"), lambda: Model()(), call):
    try:
        wrong()
    except Exception:
        traceback.print_exc(file=sys.stdout)
depth = 10
try:
    while Deep()(depth) == depth:
        depth += 1
except RecursionError:
    print("too deep at", depth)
print(torch.fx.symbolic_trace(Sequential(Linear(1, 1))).code, torch.jit.trace(Linear(1, 1), x)(x).shape)
threads = [threading.Thread(target=Own(), args=[x]) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for _ in range(3):
    Sequential(Model(), Sequential(Model()))(x)
"#;

#[test]
fn models_behave_the_same_and_their_outermost_calls_are_recorded() {
    let Some(python) = python(1) else { return };
    let calls = iterations(&both(&python, MODULES), Iteration::ModelCall);
    let of = |name: &str| calls.iter().filter(|call| *call == name).count();
    // Models that exist at the same time are numbered. Those of threads may or may not.
    let own = calls
        .iter()
        .filter(|call| call.split(" #").next() == Some("Own"));
    assert_eq!(own.count(), 2 + 4);
    // Two calls in other ways, and one without arguments; the others are nested.
    assert_eq!(of("Model"), 3);
    assert_eq!(of("Sequential"), 1 + 3);
}

const COMPILER_LATE: &str = r#"
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
        self.inner.register_forward_hook(lambda module, given, made: made + 1)
        self.calls = 0
    def forward(self, x):
        self.calls += 1
        if self.calls == 3:
            import torch._dynamo
        return self.inner(x)
net, x = Net(), torch.ones(2, 4)
for _ in range(5):
    net(x)
from torch._dynamo.testing import CompileCounter
from torch._dynamo.utils import unpatched_nn_module_call
print(unpatched_nn_module_call is torch.nn.Module.__call__)
counter = CompileCounter()
compiled = torch.compile(net.inner, backend=counter, fullgraph=True)
for _ in range(4):
    compiled(x)
print(counter.frame_count, counter.op_count)
"#;

#[test]
fn a_compiler_loaded_during_a_call_sees_unhooked_modules() {
    let Some(python) = python(2) else { return };
    let calls = iterations(&both(&python, COMPILER_LATE), Iteration::ModelCall);
    assert_eq!(calls[..5], ["Net"; 5]);
    assert!(calls[5..].iter().all(|call| call != "Net"), "{calls:?}");
}

const COMPILED: &str = r#"
import torch
from torch._dynamo.callback import callback_handler
events = []
callback_handler.register_start_callback(lambda *_: events.append("began"))
callback_handler.register_end_callback(lambda *_: events.append("ended"))
print(len(callback_handler.start_callbacks))
print(torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2)), events)
torch._dynamo.reset()
print(torch.compile(lambda x: x * 2, backend="eager")(torch.ones(2)), events)
"#;

#[test]
fn compilations_are_recorded_also_after_a_reset() {
    let Some(python) = python(2) else { return };
    let mut ranges = samples::names(&both(&python, COMPILED), Kind::Range, 0);
    // Its phases have separate ranges.
    ranges.retain(|name| name == "torch.compile");
    assert_eq!(ranges, ["torch.compile"; 2]);
}

/// Unexpected modules in place of PyTorch.
const STRANGE: &str = r#"
import os, sys
os.makedirs("torch/utils/data"), os.makedirs("torch/_dynamo")
for name in "", "utils", "utils/data", "_dynamo":
    open(os.path.join("torch", name, "__init__.py"), "w").close()
open("torch/_dynamo/callback.py", "w").write("callback_handler = None")
open("torch/utils/data/dataloader.py", "w").write(
    "class Meta(type):\n def __setattr__(*_): raise OSError('no')\n"
    "class _BaseDataLoaderIter(metaclass=Meta):\n def __next__(self): return 1\n"
)
sys.path.insert(0, os.getcwd())
import torch._dynamo.callback, torch.utils.data.dataloader
print(torch.utils.data.dataloader._BaseDataLoaderIter().__next__())
"#;

#[test]
fn unexpected_modules_are_left_alone() {
    let scratch = Scratch::new();
    if Command::new("/usr/bin/python3").arg("-V").output().is_err() {
        missing("python", "/usr/bin/python3 does not exist");
        return;
    }
    let mut launch = scratch.launch(&["starts=1"], &["/usr/bin/python3", "-c", STRANGE]);
    let output = launch
        .current_dir(scratch.path())
        .output()
        .expect("it runs");
    assert_eq!(text(&output.stderr), "");
    assert_eq!(text(&output.stdout), "1\n");
}
