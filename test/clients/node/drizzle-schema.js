// What drizzle-kit makes migrations from.
import { customType, doublePrecision, index, integer, pgTable, real, uuid, vector } from "drizzle-orm/pg-core";
import { DIMS, VECTOR } from "./common.js";

const bytea = customType({ dataType: () => "bytea" });

export const items = pgTable(
  "items",
  {
    id: integer().primaryKey(),
    k: uuid(),
    r: real().array(),
    d: doublePrecision().array(),
    b: bytea(),
    ...(VECTOR ? { v: vector({ dimensions: DIMS }) } : {}),
  },
  (t) => [
    index("items_k").using("betree", t.k),
    index("items_r").using("ecp", t.r).with({ target_recall: "0.98" }),
    index("items_d").using("ecp", t.d),
    index("items_b").using("ecp", t.b),
    ...(VECTOR ? [index("items_v").using("ecp", t.v.op("vector_l2_ops"))] : []),
  ],
);
