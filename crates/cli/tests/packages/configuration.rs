//! Packages that read settings from files and variables.

use super::table::Change::{Append, Remove, Set, Write};
use super::table::{Package, module, program};

pub const CONFIGURATION: &[Package] = &[
    program(
        "python-dotenv",
        &[
            (
                "program.py",
                "import os
from dotenv import load_dotenv
load_dotenv()
import decimal, json
print(os.environ['DATABASE'], json.dumps({'a': str(decimal.Decimal(1) / 7)}))
",
            ),
            (".env", "DATABASE=staging\n"),
        ],
        Write(".env", "DATABASE=production\n"),
    ),
    program(
        "pydantic-settings",
        &[
            (
                "program.py",
                "from settings import settings
print(settings.model_dump())
",
            ),
            (
                "settings.py",
                "from pydantic_settings import BaseSettings, SettingsConfigDict
class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_file='.env', env_prefix='APP_')
    database: str = 'none'
    workers: int = 1
settings = Settings()
",
            ),
            (".env", "APP_DATABASE=staging\n"),
        ],
        Write(".env", "APP_DATABASE=production\nAPP_WORKERS=four\n"),
    ),
    program(
        "PyYAML",
        &[
            (
                "program.py",
                "import yaml
with open('settings.yaml') as file:
    print(yaml.safe_load(file))
print(yaml.dump({'b': [1, 2], 'a': None}), yaml.__with_libyaml__)
",
            ),
            ("settings.yaml", "database: staging\nports: [1, 2]\n"),
        ],
        Write("settings.yaml", "database: production\nports: [3\n"),
    ),
    program(
        "dynaconf",
        &[
            (
                "program.py",
                "from dynaconf import Dynaconf
settings = Dynaconf(settings_files=['settings.toml'], environments=True)
print(settings.DATABASE, settings.current_env)
",
            ),
            (
                "settings.toml",
                "[default]\ndatabase = 'staging'\n[production]\ndatabase = 'production'\n",
            ),
        ],
        Set("ENV_FOR_DYNACONF", "production"),
    ),
    program(
        "environs",
        &[
            (
                "program.py",
                "from environs import Env
env = Env()
env.read_env()
print(env.int('PORT', 80), env.list('HOSTS'), env.bool('DEBUG', False))
",
            ),
            (".env", "HOSTS=a,b\nPORT=8080\n"),
        ],
        Remove(".env"),
    ),
    program(
        "python-decouple",
        &[
            (
                "program.py",
                "from decouple import config
DEBUG = config('DEBUG', default=False, cast=bool)
import fractions, statistics
print(DEBUG, config('NAME'), statistics.mean([1, 2]))
",
            ),
            ("settings.ini", "[settings]\nDEBUG=on\nNAME=first\n"),
        ],
        Write("settings.ini", "[settings]\nDEBUG=off\nNAME=second\n"),
    ),
    program(
        "omegaconf",
        &[
            (
                "program.py",
                "from omegaconf import OmegaConf
config = OmegaConf.merge(OmegaConf.load('config.yaml'), OmegaConf.from_cli())
print(OmegaConf.to_yaml(config, resolve=True))
",
            ),
            (
                "config.yaml",
                "size: 3\nhome: ${oc.env:PLACE,nowhere}\ntwice: ${size}${size}\n",
            ),
        ],
        Set("PLACE", "here"),
    ),
    program(
        "hydra-core",
        &[
            (
                "program.py",
                "import hydra
@hydra.main(version_base=None, config_path='conf', config_name='config')
def main(config):
    print(config)
if __name__ == '__main__':
    main()
",
            ),
            (
                "conf/config.yaml",
                "defaults:\n- model: small\n- _self_\nhydra:\n  run:\n    dir: made\n",
            ),
            ("conf/model/small.yaml", "layers: 2\n"),
            ("conf/model/large.yaml", "layers: 20\n"),
        ],
        Append(&["model=large", "+seed=7"]),
    ),
    program(
        "configobj",
        &[
            (
                "program.py",
                "import configobj
config = configobj.ConfigObj('app.ini', interpolation=True)
print(config.dict())
config['seen'] = 'yes'
config.write()
",
            ),
            ("app.ini", "name = first\n[part]\nlist = 1, 2\n"),
        ],
        Write("app.ini", "name = second\n[part]\nlist = 1\n"),
    ),
    program(
        "tomlkit",
        &[
            (
                "program.py",
                "import tomlkit
document = tomlkit.parse(open('app.toml').read())
document['count'] = document.get('count', 0) + 1
open('app.toml', 'w').write(tomlkit.dumps(document))
print(document)
",
            ),
            ("app.toml", "# a comment\nname = 'first'\n"),
        ],
        Write("app.toml", "name = 'second'\ncount = 6\n"),
    ),
    program(
        "platformdirs",
        &[(
            "program.py",
            "import platformdirs
print(platformdirs.user_config_dir('app'), platformdirs.user_cache_path('app', 'me'))
print(platformdirs.user_documents_dir())
",
        )],
        Set("XDG_CONFIG_HOME", "/elsewhere"),
    ),
    program(
        "loguru",
        &[(
            "program.py",
            "from loguru import logger
logger.debug('hidden or shown')
logger.warning('always shown')
",
        )],
        Set("LOGURU_FORMAT", "{level}: {message}"),
    )
    .with("LOGURU_FORMAT", "{message}"),
    program(
        "structlog",
        &[
            (
                "program.py",
                "import logging, structlog, levels
structlog.configure(
    processors=[structlog.processors.add_log_level, structlog.processors.KeyValueRenderer()],
    wrapper_class=structlog.make_filtering_bound_logger(levels.LEVEL),
)
structlog.get_logger().info('started', port=1)
structlog.get_logger().error('failed', port=2)
",
            ),
            ("levels.py", "LEVEL = 20\n"),
        ],
        Write("levels.py", "LEVEL = 40\n"),
    ),
    program(
        "coloredlogs",
        &[(
            "program.py",
            "import coloredlogs, logging
coloredlogs.install(level='DEBUG', isatty=False)
logging.debug('one')
logging.error('two')
",
        )],
        Set("COLOREDLOGS_LOG_FORMAT", "%(levelname)s %(message)s"),
    )
    .with("COLOREDLOGS_LOG_FORMAT", "%(message)s"),
    program(
        "traitlets",
        &[
            (
                "program.py",
                "from traitlets import Int, Unicode
from traitlets.config import Application
class App(Application):
    name = Unicode('app')
    size = Int(3).tag(config=True)
    def start(self):
        print(self.size)
app = App()
app.load_config_file('app_config', path=['.'])
app.initialize()
app.start()
",
            ),
            ("app_config.py", "c.App.size = 4\n"),
        ],
        Write("app_config.py", "c.App.size = 5\n"),
    ),
    program(
        "keyring",
        &[(
            "program.py",
            "import keyring
print(keyring.get_keyring())
print(keyring.get_credential('service', 'user'))
",
        )],
        Set("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring"),
    ),
    module(
        "invoke",
        &["-m", "invoke", "show"],
        &[
            (
                "tasks.py",
                "from invoke import task
@task
def show(context):
    print(context.config.database, context.run('echo run', hide=True).stdout)
",
            ),
            ("invoke.yaml", "database: staging\n"),
        ],
        Set("INVOKE_DATABASE", "production"),
    ),
    program(
        "marshmallow",
        &[
            (
                "program.py",
                "from marshmallow import Schema, ValidationError, fields
import json
class Person(Schema):
    name = fields.Str(required=True)
    age = fields.Int(strict=True)
try:
    print(Person().load(json.load(open('person.json'))))
except ValidationError as error:
    print(error.messages)
    raise SystemExit(3)
",
            ),
            ("person.json", "{\"name\": \"Ada\", \"age\": 36}"),
        ],
        Write("person.json", "{\"age\": \"old\"}"),
    ),
    program(
        "attrs",
        &[(
            "program.py",
            "import os, attr
attr.validators.set_disabled(bool(os.environ.get('FAST')))
@attr.s(auto_attribs=True, order=True)
class Point:
    x: int = attr.ib(validator=attr.validators.instance_of(int))
print(sorted([Point(2), Point(1)]))
print(Point('text'))
",
        )],
        Set("FAST", "1"),
    ),
    program(
        "jsonschema",
        &[
            (
                "program.py",
                "import json, jsonschema
schema = json.load(open('schema.json'))
jsonschema.validate({'size': 3}, schema)
print('valid')
",
            ),
            (
                "schema.json",
                "{\"properties\": {\"size\": {\"maximum\": 4}}}",
            ),
        ],
        Write(
            "schema.json",
            "{\"properties\": {\"size\": {\"maximum\": 2}}}",
        ),
    ),
];
