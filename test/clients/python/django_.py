"""Django: models with ArrayField and BinaryField, and an Index class a line long."""

import os

import django
from django.conf import settings
from django.db.models import FloatField, Func

from common import *

version("Django", "psycopg", "pgvector")
settings.configure(
    INSTALLED_APPS=["django.contrib.postgres"],
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"],
                           "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
                           "USER": os.environ["PGUSER"]}})
django.setup()

from django.contrib.postgres.fields import ArrayField  # noqa: E402
from django.contrib.postgres.indexes import PostgresIndex  # noqa: E402
from django.db import connection, models  # noqa: E402


class EcpIndex(PostgresIndex):
    suffix = "ecp"


class BetreeIndex(PostgresIndex):
    suffix = "betree"


class Real(models.FloatField):
    def db_type(self, connection):
        return "real"


class L2(Func):
    """column <-> value"""
    function, template, arg_joiner = "", "(%(expressions)s)", " <-> "
    output_field = FloatField()


class Item(models.Model):
    id = models.IntegerField(primary_key=True)
    k = models.UUIDField()
    r = ArrayField(Real())
    d = ArrayField(models.FloatField())
    b = models.BinaryField()
    if VECTOR:
        from pgvector.django import VectorField

        v = VectorField(dimensions=DIMS)

    class Meta:
        app_label = "items"
        db_table = "items"
        indexes = [BetreeIndex("k", name="items_k"), EcpIndex("r", name="items_r"),
                   EcpIndex("d", name="items_d"), EcpIndex("b", name="items_b")]
        if VECTOR:
            indexes.append(EcpIndex(name="items_v", fields=["v"], opclasses=["vector_l2_ops"]))


with connection.schema_editor() as editor:
    editor.create_model(Item)
Item.objects.bulk_create(
    Item(id=i, k=key(i), r=vector(i), d=vector(i), b=data(i),
         **({"v": vector(i)} if VECTOR else {})) for i in range(ROWS))
with connection.cursor() as cursor:
    for statement in ["ANALYZE items"] + SETTINGS.split(";"):
        cursor.execute(statement)


def ask(distance, index, name):
    rows = Item.objects.annotate(far=distance)
    check(f"using {index}" in rows.order_by("far")[:10].explain(), f"{name}: index in use")
    exact = rows.order_by(models.F("far") + 0 * models.F("id"))[:10].values_list("far", flat=True)
    check(list(rows.order_by("far")[:10].values_list("far", flat=True)) == list(exact), f"{name}: answer")


def value(column, data):
    return models.Value(data, output_field=Item._meta.get_field(column))


ask(L2("r", value("r", vector(7))), "items_r", "list, ArrayField of real")
ask(L2("d", value("d", vector(7))), "items_d", "list, ArrayField of FloatField")
ask(L2("b", value("b", data(7))), "items_b", "bytes")
if VECTOR:
    from pgvector.django import L2Distance

    ask(L2Distance("v", vector(7)), "items_v", "pgvector's VectorField")
low, high = sorted([key(3), key(4)])
rows = Item.objects.filter(k__gte=low, k__lt=high).order_by("k")
check("items_k" in rows.explain(), "uuid, betree: index in use")
expected = sorted(key(i) for i in range(ROWS) if low <= key(i) < high)
check(list(rows.values_list("k", flat=True)) == expected, "uuid, betree: answer")
finish()
