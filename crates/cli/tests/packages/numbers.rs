//! Packages that compute, draw and hold data.

use super::table::Change::{Append, Set, Write};
use super::table::{Package, program};

/// ultralytics replaces a file that lacks a setting.
const ULTRALYTICS: &str = r#"{
  "settings_version": "0.0.8",
  "datasets_dir": "datasets",
  "weights_dir": "weights",
  "runs_dir": "staging",
  "uuid": "none",
  "sync": true,
  "api_key": "",
  "openai_api_key": "",
  "clearml": true,
  "comet": true,
  "dvc": true,
  "mlflow": true,
  "raytune": true,
  "tensorboard": false,
  "wandb": false,
  "vscode_msg": true,
  "openvino_msg": true
}
"#;
const ULTRALYTICS_CHANGED: &str = r#"{
  "settings_version": "0.0.8",
  "datasets_dir": "datasets",
  "weights_dir": "weights",
  "runs_dir": "production",
  "uuid": "none",
  "sync": false,
  "api_key": "",
  "openai_api_key": "",
  "clearml": true,
  "comet": true,
  "dvc": true,
  "mlflow": true,
  "raytune": true,
  "tensorboard": false,
  "wandb": false,
  "vscode_msg": true,
  "openvino_msg": true
}
"#;

pub const NUMBERS: &[Package] = &[
    program(
        "numpy",
        &[(
            "program.py",
            "import numpy
print(numpy.linspace(0, 1, 3), numpy.ones((8, 8)) @ numpy.ones(8))
",
        )],
        Set("NPY_DISABLE_CPU_FEATURES", "X86_V2"),
    ),
    program(
        "pandas",
        &[
            (
                "program.py",
                "import pandas
frame = pandas.read_csv('data.csv')
print(frame.groupby('name').sum())
frame.to_json('data.json')
",
            ),
            ("data.csv", "name,count\na,1\nb,2\na,3\n"),
        ],
        Write("data.csv", "name,count\na,1\nb,x\na,3\n"),
    ),
    program(
        "pyarrow",
        &[(
            "program.py",
            "import pyarrow, pyarrow.compute, pyarrow.parquet
table = pyarrow.table({'a': [1, 2, 3], 'b': ['x', None, 'z']})
pyarrow.parquet.write_table(table, 'table.parquet')
print(pyarrow.parquet.read_table('table.parquet').to_pydict())
print(pyarrow.compute.sum(table['a']), pyarrow.cpu_count(), pyarrow.io_thread_count())
print(pyarrow.default_memory_pool().backend_name)
",
        )],
        Set("ARROW_IO_THREADS", "3"),
    ),
    program(
        "scikit-learn",
        &[(
            "program.py",
            "import sklearn
from sklearn.linear_model import LinearRegression
print(LinearRegression().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).coef_.round(6))
print(sklearn.get_config()['working_memory'], sklearn.get_config()['assume_finite'])
",
        )],
        Set("SKLEARN_WORKING_MEMORY", "77"),
    ),
    program(
        "matplotlib",
        &[
            (
                "program.py",
                "import matplotlib
print(matplotlib.rcParams['lines.linewidth'], matplotlib.rcParams['figure.dpi'])
",
            ),
            ("matplotlibrc", "lines.linewidth: 2\n"),
        ],
        Write("matplotlibrc", "lines.linewidth: 3\nfigure.dpi: wrong\n"),
    ),
    program(
        "networkx",
        &[(
            "program.py",
            "import networkx
print(networkx.shortest_path(networkx.path_graph(5), 0, 4))
print(networkx.config.warnings_to_ignore, networkx.config.fallback_to_nx)
",
        )],
        Set("NETWORKX_FALLBACK_TO_NX", "True"),
    ),
    program(
        "sympy",
        &[(
            "program.py",
            "import sympy
x = sympy.Symbol('x')
print(sympy.integrate(x ** 2 * sympy.sin(x), x))
from sympy.core.cache import USE_CACHE
print(USE_CACHE)
",
        )],
        Set("SYMPY_USE_CACHE", "no"),
    ),
    program(
        "dask",
        &[
            (
                "program.py",
                "import dask
print(dask.config.get('scheduler', None), dask.config.get('temporary-directory', None))
print(dask.delayed(sum)([1, 2, 3]).compute(scheduler='sync'))
",
            ),
            ("home/.config/dask/ours.yaml", "scheduler: threads\n"),
        ],
        Write(
            "home/.config/dask/ours.yaml",
            "scheduler: sync\ntemporary-directory: /elsewhere\n",
        ),
    ),
    program(
        "joblib",
        &[
            (
                "program.py",
                "import joblib, sizes
memory = joblib.Memory('kept', verbose=0)
@memory.cache
def square(n):
    print('computed', n)
    return n * n
print(square(sizes.SIZE), square(sizes.SIZE))
print(joblib.Parallel(n_jobs=1)(joblib.delayed(abs)(n) for n in (-1, 2)))
import shutil; shutil.rmtree('kept')
",
            ),
            ("sizes.py", "SIZE = 3\n"),
        ],
        Write("sizes.py", "SIZE = 4\n"),
    ),
    program(
        "xarray",
        &[(
            "program.py",
            "import sys, xarray
array = xarray.DataArray([[1, 2], [3, 4]], dims=('x', 'y'))
xarray.set_options(display_width=60, keep_attrs='--keep' in sys.argv)
print(array.sum('x'), xarray.get_options()['keep_attrs'])
",
        )],
        Append(&["--keep"]),
    ),
    program(
        "astropy",
        &[
            (
                "program.py",
                "from astropy import units, conf
from astropy.time import Time
print((3 * units.km).to(units.m), conf.max_lines, conf.unicode_output)
print(Time(0, format='unix').isot)
",
            ),
            ("home/.astropy/config/astropy.cfg", "max_lines = 7\n"),
        ],
        Write("home/.astropy/config/astropy.cfg", "max_lines = 8\n"),
    ),
    program(
        "bokeh",
        &[(
            "program.py",
            "from bokeh.settings import settings
from bokeh.plotting import figure
settings.simple_ids = True
plot = figure(title='a plot')
plot.line([1, 2], [3, 4])
print(settings.log_level(), settings.minified(), plot.title.text)
",
        )],
        Set("BOKEH_MINIFIED", "no"),
    ),
    program(
        "ultralytics",
        &[
            (
                "program.py",
                "import json
import ultralytics
import os, torch
print(ultralytics.settings['runs_dir'], ultralytics.settings['sync'])
print(torch.get_num_threads(), os.environ.get('OMP_' + 'NUM_THREADS'))
",
            ),
            ("conf/Ultralytics/settings.json", ULTRALYTICS),
        ],
        Write("conf/Ultralytics/settings.json", ULTRALYTICS_CHANGED),
    )
    .with("YOLO_CONFIG_DIR", "conf"),
    program(
        "pillow",
        &[(
            "program.py",
            "import os
from PIL import Image, ImageDraw
image = Image.new('RGB', (int(os.environ.get('SIZE', 4)), 4), 'red')
ImageDraw.Draw(image).point((1, 1), 'blue')
image.save('picture.png')
print(image.size, image.getpixel((1, 1)), Image.core.get_block_size())
",
        )],
        Set("PILLOW_BLOCK_SIZE", "4m"),
    ),
    program(
        "nltk",
        &[(
            "program.py",
            "import nltk
print(nltk.data.path[0])
print(nltk.stem.PorterStemmer().stem('running'), nltk.edit_distance('a', 'abc'))
",
        )],
        Set("NLTK_DATA", "/elsewhere/data"),
    ),
    program(
        "Babel",
        &[(
            "program.py",
            "import babel, babel.dates, babel.numbers, datetime
print(babel.default_locale(), babel.numbers.format_decimal(12345.678))
print(babel.dates.format_date(datetime.date(2024, 2, 29), 'full'))
",
        )],
        Set("LC_ALL", "de_DE.UTF-8"),
    ),
    program(
        "python-dateutil",
        &[(
            "program.py",
            "import datetime
from dateutil import parser, rrule, tz
when = parser.parse('2024-02-29 12:00 UTC')
print(when.astimezone(tz.tzlocal()), tz.tzlocal().tzname(when))
print(list(rrule.rrule(rrule.DAILY, count=2, dtstart=when)))
",
        )],
        Set("TZ", "Asia/Tokyo"),
    ),
    program(
        "arrow",
        &[(
            "program.py",
            "import arrow
print(arrow.get(0).to('local'), arrow.get(0).humanize(arrow.get(7200)))
",
        )],
        Set("TZ", "America/New_York"),
    ),
    program(
        "Faker",
        &[(
            "program.py",
            "import os
from faker import Faker
Faker.seed(int(os.environ.get('SEED', 1)))
fake = Faker(['en_US', 'de_DE'])
print([fake.name() for _ in range(3)], fake.address())
",
        )],
        Set("SEED", "2"),
    ),
    program(
        "rapidfuzz",
        &[(
            "program.py",
            "import rapidfuzz
print(rapidfuzz.fuzz.ratio('one', 'once'))
print(rapidfuzz.distance.Levenshtein.distance.__module__)
",
        )],
        Set("RAPIDFUZZ_IMPLEMENTATION", "python"),
    ),
    program(
        "regex",
        &[
            (
                "program.py",
                "import regex
pattern = open('pattern.txt').read().strip()
print(regex.findall(pattern, 'one two three', overlapped=True))
",
            ),
            ("pattern.txt", "(?<=o)\\w\n"),
        ],
        Write("pattern.txt", "(unfinished\n"),
    ),
    program(
        "msgpack",
        &[(
            "program.py",
            "import msgpack
print(msgpack.unpackb(msgpack.packb({'a': [1, 2.5, None]})), msgpack.Packer.__module__)
",
        )],
        Set("MSGPACK_PUREPYTHON", "1"),
    ),
    program(
        "protobuf",
        &[(
            "program.py",
            "from google.protobuf import struct_pb2
from google.protobuf.internal import api_implementation
message = struct_pb2.Struct()
message['a'] = 1
print(message, message.SerializeToString(), api_implementation.Type())
",
        )],
        Set("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python"),
    ),
    program(
        "simplejson",
        &[
            (
                "program.py",
                "import simplejson
print(simplejson.loads(open('data.json').read(), use_decimal=True))
",
            ),
            ("data.json", "{\"a\": 1.10}"),
        ],
        Write("data.json", "{\"a\": 1.10,}"),
    ),
    program(
        "psutil",
        &[(
            "program.py",
            "import psutil
process = psutil.Process()
print(process.name(), process.nice(), process.cwd(), process.cmdline()[1:])
print(process.environ().get('SETTING'), process.num_threads(), process.status())
",
        )],
        Set("SETTING", "changed"),
    ),
];
