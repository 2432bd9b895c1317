// Drizzle: drizzle-kit generates and applies the migration, and must then find nothing to change.
import { execFileSync } from "child_process";
import { readdirSync, readFileSync, rmSync } from "fs";
import { createRequire } from "module";
import pg from "pg";
import { and, gte, l2Distance, lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { between, check, data, exit, high, key, low, ROWS, vector, VECTOR } from "./common.js";
import { items } from "./drizzle-schema.js";

const require = createRequire(import.meta.url);
const versions = ["orm", "kit"].map((part) => JSON.parse(readFileSync(`node_modules/drizzle-${part}/package.json`)).version);
console.log(`version: drizzle-orm ${versions[0]}, drizzle-kit ${versions[1]}, pg ${require("pg/package.json").version}`);

const client = new pg.Client();
await client.connect();
const db = drizzle(client);
const kit = (...words) => {
  const output = execFileSync("npx", ["drizzle-kit", ...words], { encoding: "utf8" });
  console.log(output);
  return output;
};
const indexes = async () =>
  (await client.query("SELECT indexrelid::int, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'items'::regclass ORDER BY 1"))
    .rows.map((row) => Object.values(row).join(" ")).join("\n");

rmSync("drizzle", { recursive: true, force: true });
kit("generate");
kit("migrate");
const made = await indexes();
check(made.includes("USING ecp (r) WITH (target_recall='0.98')") && made.includes("USING betree (k)"), "migrate: indexes");
kit("generate");
check(readdirSync("drizzle").filter((file) => file.endsWith(".sql")).length === 1, "second generate: no migration");
kit("push", "--force");
check((await indexes()) === made, "push: indexes are those of before");

for (let i = 0; i < ROWS; i++) {
  const v = vector(i);
  await db.insert(items).values({ id: i, k: key(i), r: v, d: v, b: data(i), ...(VECTOR ? { v } : {}) });
}
await client.query("ANALYZE items");
await client.query("SET ecp.probes = 1000; SET enable_seqscan = off; SET enable_bitmapscan = off");

const planOf = async (query) =>
  (await db.execute(sql`EXPLAIN (COSTS OFF) ${query.getSQL()}`)).rows.map((row) => row["QUERY PLAN"]).join("\n");
async function ask(column, far, name) {
  const near = (order) => db.select({ far: far.mapWith(Number).as("far") }).from(items).orderBy(order).limit(10);
  check((await planOf(near(far))).includes(`using items_${column}`), `${name}: index in use`);
  const exact = await near(sql`(${far}) + 0 * id`);
  check(JSON.stringify(await near(far)) === JSON.stringify(exact) && exact.length === 10, `${name}: answer`);
}
await ask("r", sql`${items.r} <-> ${sql.param(vector(7))}`, "list, real().array()");
await ask("d", sql`${items.d} <-> ${sql.param(vector(7))}`, "list, doublePrecision().array()");
await ask("b", sql`${items.b} <-> ${data(7)}`, "Buffer");
if (VECTOR) await ask("v", l2Distance(items.v, vector(7)), "l2Distance, vector()");

const range = db.select({ k: items.k }).from(items).where(and(gte(items.k, low), lt(items.k, high))).orderBy(items.k);
check((await planOf(range)).includes("items_k"), "uuid, betree: index in use");
check(String((await range).map((row) => row.k)) === String(between), "uuid, betree: answer");
await client.end();
exit();
