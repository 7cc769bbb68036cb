//! Packages for servers, clients and databases.

use super::table::Change::{Append, Remove, Set, Write};
use super::table::{Package, module, program};

pub const WEB: &[Package] = &[
    program(
        "requests",
        &[
            (
                "program.py",
                "import requests
session = requests.Session()
print(requests.utils.get_netrc_auth('http://example.test/'))
settings = session.merge_environment_settings('http://example.test/', {}, None, True, None)
print(settings['proxies'], settings['verify'])
",
            ),
            (
                "home/.netrc",
                "machine example.test login one password two\n",
            ),
        ],
        Write(
            "home/.netrc",
            "machine example.test login three password four\n",
        ),
    ),
    program(
        "httpx",
        &[(
            "program.py",
            "import httpx
client = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(200, text=str(request.url))))
print(client.get('http://example.test/a').text)
print(sorted(str(each) for each in httpx._utils.get_environment_proxies().items()))
",
        )],
        Set("HTTP_PROXY", "http://proxy.test:1"),
    ),
    program(
        "Flask",
        &[
            (
                "program.py",
                "import flask
app = flask.Flask(__name__)
app.config.from_prefixed_env('APP')
app.config.from_pyfile('settings.cfg')
@app.get('/')
def index():
    return flask.render_template('index.html', size=app.config['SIZE'])
print(app.test_client().get('/').text, app.debug)
",
            ),
            ("settings.cfg", "SIZE = 1\n"),
            ("templates/index.html", "size {{ size }}"),
        ],
        Write("settings.cfg", "SIZE = 2\n"),
    ),
    program(
        "Jinja2",
        &[
            (
                "program.py",
                "import jinja2
templates = jinja2.Environment(loader=jinja2.FileSystemLoader('templates'), autoescape=True)
print(templates.get_template('page.txt').render(items=[1, '<2>']))
",
            ),
            ("templates/page.txt", "{% for each in items %}{{ each }};{% endfor %}"),
        ],
        Write("templates/page.txt", "{% for each in items %}{{ each }}\n{% endif %}"),
    ),
    program(
        "Django",
        &[
            (
                "program.py",
                "import os
os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'settings')
import django
django.setup()
from django.conf import settings
from django.template import engines
print(settings.DEBUG, engines['django'].from_string('{{ a|upper }}').render({'a': 'x'}))
",
            ),
            (
                "settings.py",
                "DEBUG = False\nSECRET_KEY = 'x'\nTEMPLATES = [{'BACKEND': 'django.template.backends.django.DjangoTemplates'}]\n",
            ),
            (
                "other.py",
                "from settings import *\nDEBUG = True\n",
            ),
        ],
        Set("DJANGO_SETTINGS_MODULE", "other"),
    ),
    program(
        "SQLAlchemy",
        &[
            (
                "program.py",
                "import configparser, sqlalchemy
settings = configparser.ConfigParser()
settings.read('database.ini')
engine = sqlalchemy.create_engine(settings['database']['url'])
with engine.begin() as connection:
    connection.execute(sqlalchemy.text('create table t (x integer)'))
    connection.execute(sqlalchemy.text('insert into t values (1), (2)'))
    print(connection.execute(sqlalchemy.text('select sum(x) from t')).scalar())
print(engine.url)
",
            ),
            ("database.ini", "[database]\nurl = sqlite:///staging.db\n"),
        ],
        Write("database.ini", "[database]\nurl = sqlite:///production.db\n"),
    ),
    module(
        "alembic",
        &["-m", "alembic", "heads", "-v"],
        &[
            (
                "alembic.ini",
                "[alembic]\nscript_location = one\npath_separator = os\n",
            ),
            ("one/env.py", ""),
            ("one/versions/first.py", "revision = 'aaa'\ndown_revision = None\n"),
        ],
        Write(
            "one/versions/second.py",
            "revision = 'bbb'\ndown_revision = 'aaa'\n",
        ),
    ),
    program(
        "peewee",
        &[
            (
                "program.py",
                "import peewee, sys
database = peewee.SqliteDatabase(sys.argv[1] if sys.argv[1:] else 'first.db')
class Note(peewee.Model):
    text = peewee.TextField()
    class Meta:
        database = database
database.create_tables([Note])
Note.create(text='a note')
print([note.text for note in Note.select()], database.database)
",
            ),
        ],
        Append(&["second.db"]),
    ),
    program(
        "celery",
        &[
            (
                "program.py",
                "from celery import Celery
app = Celery('app')
app.config_from_envvar('CELERY_CONFIG_MODULE')
@app.task
def add(x, y):
    return x + y
print(app.conf.timezone, app.conf.task_always_eager, add.apply((1, 2)).get())
",
            ),
            ("one_config.py", "timezone = 'UTC'\n"),
            ("two_config.py", "timezone = 'Europe/Paris'\ntask_always_eager = True\n"),
        ],
        Set("CELERY_CONFIG_MODULE", "two_config"),
    )
    .with("CELERY_CONFIG_MODULE", "one_config"),
    program(
        "boto3",
        &[
            (
                "program.py",
                "import boto3
session = boto3.Session()
print(session.region_name, session.profile_name, session.get_credentials().access_key)
",
            ),
            (
                "home/.aws/config",
                "[default]\nregion = eu-west-1\n[profile other]\nregion = us-east-1\n",
            ),
            (
                "home/.aws/credentials",
                "[default]\naws_access_key_id = one\naws_secret_access_key = x\n[other]\naws_access_key_id = two\naws_secret_access_key = y\n",
            ),
        ],
        Set("AWS_PROFILE", "other"),
    ),
    program(
        "sentry-sdk",
        &[(
            "program.py",
            "import sentry_sdk
client = sentry_sdk.Client(auto_enabling_integrations=False, default_integrations=False)
print(client.options['release'], client.options['environment'], client.options['debug'])
",
        )],
        Set("SENTRY_ENVIRONMENT", "staging"),
    ).plain("gevent"),
    program(
        "prometheus_client",
        &[(
            "program.py",
            "import prometheus_client
counter = prometheus_client.Counter('starts', 'counted')
counter.inc()
print([sample.name for sample in counter.collect()[0].samples])
",
        )],
        Set("PROMETHEUS_DISABLE_CREATED_SERIES", "True"),
    ),
    module(
        "gunicorn",
        &["-m", "gunicorn", "--check-config", "--print-config", "app:app"],
        &[
            ("app.py", "def app(environ, start_response): pass\n"),
            ("gunicorn.conf.py", "workers = 2\n"),
        ],
        Write("gunicorn.conf.py", "workers = 3\n"),
    ),
    program(
        "uvicorn",
        &[(
            "program.py",
            "import uvicorn
async def app(scope, receive, send): pass
config = uvicorn.Config(app, log_level='warning')
config.load()
print(config.workers, config.forwarded_allow_ips, config.http_protocol_class.__name__)
",
        )],
        Set("WEB_CONCURRENCY", "3"),
    ),
    program(
        "starlette",
        &[
            (
                "program.py",
                "from starlette.config import Config
from starlette.datastructures import URL
config = Config('.env')
print(config('DEBUG', cast=bool, default=False), config('URL', cast=URL))
",
            ),
            (".env", "DEBUG=true\nURL=http://staging.test/\n"),
        ],
        Remove(".env"),
    ),
    program(
        "fastapi",
        &[
            (
                "program.py",
                "import json
from fastapi import FastAPI
from models import Item
app = FastAPI(title='an app')
@app.post('/items')
def create(item: Item) -> Item:
    return item
print(json.dumps(app.openapi(), sort_keys=True))
",
            ),
            (
                "models.py",
                "from pydantic import BaseModel\nclass Item(BaseModel):\n    name: str\n",
            ),
        ],
        Write(
            "models.py",
            "from pydantic import BaseModel\nclass Item(BaseModel):\n    name: str\n    size: int = 1\n",
        ),
    ),
    program(
        "aiohttp",
        &[(
            "program.py",
            "import asyncio, aiohttp.http_parser
from aiohttp import web
print(aiohttp.http_parser.HttpRequestParser.__module__, aiohttp.http.SERVER_SOFTWARE[:7])
async def main():
    app = web.Application()
    app.router.add_get('/', lambda request: None)
    return len(app.router.routes())
print(asyncio.run(main()))
",
        )],
        Set("AIOHTTP_NO_EXTENSIONS", "1"),
    ),
    program(
        "multidict",
        &[(
            "program.py",
            "import multidict
print(multidict.MultiDict([('a', 1), ('a', 2)]), multidict.MultiDict.__module__)
",
        )],
        Set("MULTIDICT_NO_EXTENSIONS", "1"),
    ),
    program(
        "websockets",
        &[(
            "program.py",
            "import sys, websockets.asyncio.client
print(websockets.Headers(arguments=' '.join(sys.argv[1:])))
",
        )],
        Append(&["more"]),
    ),
    program(
        "tornado",
        &[
            (
                "program.py",
                "import tornado.options, tornado.template
tornado.options.define('size', default=1)
tornado.options.parse_config_file('server.conf')
print(tornado.options.options.size, tornado.template.Template('{{ x }}').generate(x='<'))
",
            ),
            ("server.conf", "size = 2\n"),
        ],
        Write("server.conf", "size = 3\n"),
    ),
    program(
        "bottle",
        &[
            (
                "program.py",
                "import bottle
app = bottle.Bottle()
app.config.load_config('app.conf')
print(dict(app.config), bottle.template('{{x}}', x='<'))
",
            ),
            ("app.conf", "[site]\nname = one\n"),
        ],
        Write("app.conf", "[site]\nname = two\n"),
    ),
    program(
        "paramiko",
        &[
            (
                "program.py",
                "import os, paramiko
config = paramiko.SSHConfig.from_path(os.path.expanduser('~/.ssh/config'))
print(config.lookup('server'))
",
            ),
            ("home/.ssh/config", "Host server\n  User one\n"),
        ],
        Write("home/.ssh/config", "Host server\n  User two\n  Port 23\n"),
    ),
    program(
        "cryptography",
        &[
            (
                "program.py",
                "from cryptography.fernet import Fernet, InvalidToken
key = Fernet(open('key').read().strip())
try:
    print(key.decrypt(key.encrypt(b'text')), Fernet(Fernet.generate_key()) is not None)
except InvalidToken as error:
    print(repr(error))
",
            ),
            ("key", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n"),
        ],
        Write("key", "too short\n"),
    ),
    program(
        "openai",
        &[(
            "program.py",
            "import openai
client = openai.OpenAI(api_key='key')
print(client.base_url, client.organization)
",
        )],
        Set("OPENAI_BASE_URL", "http://localhost:1/v1"),
    ),
    program(
        "huggingface_hub",
        &[(
            "program.py",
            "from huggingface_hub import constants
print(constants.HF_HUB_CACHE, constants.HF_HUB_OFFLINE, constants.HF_HUB_DOWNLOAD_TIMEOUT)
",
        )],
        Set("HF_HUB_OFFLINE", "1"),
    ),
    program(
        "lxml",
        &[
            (
                "program.py",
                "from lxml import etree
print(etree.tostring(etree.parse('page.xml'), pretty_print=True).decode())
",
            ),
            ("page.xml", "<a><b/></a>"),
        ],
        Write("page.xml", "<a><b></a>"),
    ),
    program(
        "beautifulsoup4",
        &[
            (
                "program.py",
                "import bs4
page = bs4.BeautifulSoup(open('page.html'), 'html.parser')
print([each.get_text() for each in page.select('p')], page.title)
",
            ),
            ("page.html", "<title>one</title><p>text<p>more"),
        ],
        Write("page.html", "<title>two</title>"),
    ),
];
