import os
import time
import django
from django.conf import settings
from django.http import HttpResponse
from django.template import Context, Engine
from django.urls import path

WARM_UP = int(os.environ.get("WARM_UP", 0))

settings.configure(DEBUG=False, SECRET_KEY="x", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"],
                   MIDDLEWARE=["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"])
django.setup()
engine = Engine()

def page(request):
    template = engine.from_string("{% for n in numbers %}<li>{{ n|floatformat:2 }}</li>{% endfor %}")
    return HttpResponse(template.render(Context({"numbers": range(200)})))

urlpatterns = [path("", page)]
from django.test import Client
client = Client()
for number in range(-WARM_UP, 40):
    began = time.perf_counter()
    response = client.get("/")
    assert response.status_code == 200
    print(f"request {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
