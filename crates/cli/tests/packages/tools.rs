//! Command-line tools and what they are made of.

use super::table::Change::{Append, Set, Write};
use super::table::{Package, module, program};

/// A file that formatters and linters find fault with.
const UNTIDY: &str = "import sys, os\nimport json\nx = {  'a':1 }\nlong = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' + 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb'\n";

pub const TOOLS: &[Package] = &[
    program(
        "click",
        &[(
            "program.py",
            "import click
@click.command(context_settings={'auto_envvar_prefix': 'APP'})
@click.option('--size', type=int, default=1, show_default=True)
def main(size):
    click.secho('size %d' % size, fg='red')
main()
",
        )],
        Set("APP_SIZE", "seven"),
    ),
    program(
        "typer",
        &[(
            "program.py",
            "import typer
app = typer.Typer()
@app.command()
def show(size: int = typer.Option(1, envvar='SIZE')):
    print(size)
@app.command()
def fail():
    raise ValueError('an error')
app()
",
        )],
        Append(&["show", "--size", "x"]),
    ),
    program(
        "rich",
        &[(
            "program.py",
            "from rich.console import Console
from rich.table import Table
table = Table(title='A table')
table.add_column('name', style='red')
table.add_row('one')
Console().print(table, '[bold]text')
",
        )],
        Set("FORCE_COLOR", "1"),
    ),
    program(
        "Pygments",
        &[
            (
                "program.py",
                "from pygments import highlight
from pygments.formatters import TerminalFormatter
from pygments.lexers import get_lexer_for_filename
print(highlight(open('shown.py').read(), get_lexer_for_filename('shown.py'), TerminalFormatter()))
",
            ),
            ("shown.py", "x = 1\n"),
        ],
        Write("shown.py", "def y(): return None  # a comment\n"),
    ),
    program(
        "tqdm",
        &[(
            "program.py",
            "import io, tqdm
shown = io.StringIO()
for _ in tqdm.tqdm(range(3), file=shown, bar_format='{desc}{n}/{total}'):
    pass
print(repr(shown.getvalue()[-10:]))
",
        )],
        Set("TQDM_DESC", "work"),
    ),
    program(
        "termcolor",
        &[(
            "program.py",
            "from termcolor import colored
print(colored('text', 'red', attrs=['bold']))
",
        )],
        Set("FORCE_COLOR", "1"),
    ),
    module(
        "black",
        &["-m", "black", "untidy.py"],
        &[
            ("untidy.py", UNTIDY),
            ("pyproject.toml", "[tool.black]\nline-length = 40\n"),
        ],
        Write("pyproject.toml", "[tool.black]\nline-length = 200\n"),
    ),
    module(
        "isort",
        &["-m", "isort", "untidy.py"],
        &[("untidy.py", UNTIDY), (".isort.cfg", "[settings]\n")],
        Write(".isort.cfg", "[settings]\nreverse_sort = true\n"),
    ),
    module(
        "flake8",
        &["-m", "flake8", "-j1", "untidy.py"],
        &[
            ("untidy.py", UNTIDY),
            (".flake8", "[flake8]\nignore = E401\n"),
        ],
        Write(".flake8", "[flake8]\nmax-line-length = 200\n"),
    ),
    module(
        "pylint",
        &["-m", "pylint", "--score=n", "untidy.py"],
        &[
            ("untidy.py", UNTIDY),
            (".pylintrc", "[MESSAGES CONTROL]\ndisable=C0114\n"),
        ],
        Write(".pylintrc", "[MESSAGES CONTROL]\ndisable=all\n"),
    ),
    program(
        "docutils",
        &[
            (
                "program.py",
                "import docutils.core
print(docutils.core.publish_string('Title\\n=====\\ntext', writer='pseudoxml').decode())
",
            ),
            ("docutils.conf", "[general]\ndoctitle_xform: yes\n"),
        ],
        Write("docutils.conf", "[general]\ndoctitle_xform: no\n"),
    ),
    program(
        "hypothesis",
        &[(
            "program.py",
            "from hypothesis import given, settings, strategies
settings.register_profile('fixed', derandomize=True, database=None, max_examples=20)
settings.load_profile('fixed')
@given(strategies.integers())
def check(number):
    assert number < 1000
print(settings.default.max_examples, settings.get_profile('default').print_blob)
check()
",
        )],
        Set("CI", "true"),
    ),
    program(
        "jupyter_core",
        &[(
            "program.py",
            "from jupyter_core.paths import jupyter_config_path, jupyter_data_dir
print(jupyter_config_path()[0], jupyter_data_dir())
",
        )],
        Set("JUPYTER_DATA_DIR", "/elsewhere"),
    ),
    module(
        "ipython",
        &[
            "-m",
            "IPython",
            "--no-banner",
            "--HistoryManager.enabled=False",
            "--colors=NoColor",
            "-c",
            "print(get_ipython().colors, answer)",
        ],
        &[(
            "home/.ipython/profile_default/startup/one.py",
            "answer = 1\n",
        )],
        Write(
            "home/.ipython/profile_default/startup/one.py",
            "answer = 2\n",
        ),
    ),
    program(
        "setuptools",
        &[
            (
                "program.py",
                "import distutils, setuptools
print(setuptools.__version__, distutils.__name__, distutils.__file__)
distribution = setuptools.Distribution()
distribution.parse_config_files()
print(distribution.get_name(), distribution.get_version())
",
            ),
            ("setup.cfg", "[metadata]\nname = first\nversion = 1.0\n"),
        ],
        Write("setup.cfg", "[metadata]\nname = second\nversion = 2.0\n"),
    ),
    program(
        "fsspec",
        &[
            (
                "program.py",
                "import fsspec
from fsspec.config import conf
print(conf)
with fsspec.open('file://%s/made.txt' % __import__('os').getcwd(), 'w') as file:
    file.write('text')
",
            ),
            (
                "home/.config/fsspec/ours.json",
                "{\"file\": {\"auto_mkdir\": false}}",
            ),
        ],
        Write(
            "home/.config/fsspec/ours.json",
            "{\"file\": {\"auto_mkdir\": true}}",
        ),
    ),
    module(
        "pytest",
        &[
            "-m",
            "pytest",
            "-p",
            "no:terminal",
            "-p",
            "no:cacheprovider",
            "test_one.py",
        ],
        &[
            ("test_one.py", "def test_one(): assert 1\n"),
            ("pytest.ini", "[pytest]\n"),
        ],
        Write("pytest.ini", "[pytest]\npython_functions = other_*\n"),
    ),
    program(
        "coverage",
        &[
            (
                "program.py",
                "import coverage
measured = coverage.Coverage(data_file=None)
measured.start()
import covered
measured.stop()
print(measured.analysis('covered.py')[1:], measured.get_option('run:branch'))
",
            ),
            ("covered.py", "x = 1\nif x > 2:\n    y = 3\n"),
            (".coveragerc", "[run]\nbranch = no\n"),
        ],
        Write(".coveragerc", "[run]\nbranch = yes\n"),
    )
    .plain("coverage"),
    program(
        "gevent",
        &[(
            "program.py",
            "from gevent import monkey
monkey.patch_all()
import gevent
print(gevent.config.resolver, gevent.spawn(len, 'text').get())
",
        )],
        Set("GEVENT_RESOLVER", "block"),
    )
    .plain("gevent"),
];
