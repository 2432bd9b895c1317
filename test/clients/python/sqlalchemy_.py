"""SQLAlchemy: columns of ARRAY(REAL) and LargeBinary, and pgvector's Vector."""

import numpy
from sqlalchemy import (ARRAY, Column, Double, Index, Integer, LargeBinary, REAL, Uuid, create_engine,
                        func, select, text)
from sqlalchemy.orm import Session, declarative_base

from common import *

version("SQLAlchemy", "psycopg", "pgvector")
Base = declarative_base()


class Item(Base):
    __tablename__ = "items"
    id = Column(Integer, primary_key=True)
    k = Column(Uuid)
    r = Column(ARRAY(REAL))
    d = Column(ARRAY(Double))
    b = Column(LargeBinary)
    if VECTOR:
        from pgvector.sqlalchemy import Vector

        v = Column(Vector(DIMS))


Index("items_k", Item.k, postgresql_using="betree")
Index("items_r", Item.r, postgresql_using="ecp")
Index("items_d", Item.d, postgresql_using="ecp")
Index("items_b", Item.b, postgresql_using="ecp")
if VECTOR:
    Index("items_v", Item.v, postgresql_using="ecp", postgresql_ops={"v": "vector_l2_ops"})

engine = create_engine("postgresql+psycopg://")
Base.metadata.create_all(engine)
session = Session(engine)
session.add_all(
    Item(id=i, k=key(i), r=vector(i), d=vector(i), b=data(i),
         **({"v": vector(i)} if VECTOR else {})) for i in range(ROWS))
session.commit()
session.execute(text("ANALYZE items"))
for statement in SETTINGS.split(";"):
    session.execute(text(statement))


def plan_of(statement):
    compiled = statement.compile(engine)
    values = {name: compiled._bind_processors.get(name, lambda value: value)(value)
              for name, value in compiled.params.items()}
    rows = session.connection().exec_driver_sql("EXPLAIN (COSTS OFF) " + str(compiled), values)
    return "\n".join(row[0] for row in rows)


def ask(distance, index, name):
    statement = select(distance).order_by(distance).limit(10)
    check(f"using {index}" in plan_of(statement), f"{name}: index in use")
    exact = session.scalars(select(distance).order_by(distance + 0 * Item.id).limit(10)).all()
    check(session.scalars(statement).all() == exact, f"{name}: answer")


ask(Item.r.op("<->", return_type=Double())(vector(7)), "items_r", "list, ARRAY(REAL)")
ask(Item.d.op("<->", return_type=Double())(vector(7)), "items_d", "list, ARRAY(Double)")
ask(Item.b.op("<->", return_type=Double())(data(7)), "items_b", "bytes")
if VECTOR:
    ask(Item.v.l2_distance(vector(7)), "items_v", "pgvector's Vector")
low, high = sorted([key(3), key(4)])
statement = select(Item.k).where(Item.k >= low, Item.k < high).order_by(Item.k)
check("items_k" in plan_of(statement), "uuid, betree: index in use")
expected = sorted(key(i) for i in range(ROWS) if low <= key(i) < high)
check(session.scalars(statement).all() == expected, "uuid, betree: answer")
finish()
